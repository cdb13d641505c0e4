package soak_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// noon is when the fault of the test begins.
func noon() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// applied returns the event of a server-side apply that has stored a number of replicas, which an entry of managedFields contains.
func applied(id string, generation, replicas int, at time.Time, annotations map[string]string, labels ...string) event {
	manager := `{"manager": "kube-controller-manager", "operation": "Update", "subresource": "scale", "apiVersion": "apps/v1",
		"fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}`
	if replicas == 3 {
		manager = `{"manager": "kubectl", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}`
	}
	e := event{Verb: "patch", RequestURI: "/?fieldManager=kubectl", Annotations: annotations}
	e.ObjectRef.Namespace, e.ObjectRef.Name, e.ResponseStatus.Code = "shop", "web", http.StatusOK
	e.RequestReceivedTimestamp, e.StageTimestamp = metav1.NewMicroTime(at), metav1.NewMicroTime(at.Add(time.Millisecond))
	text := fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "u",
		"resourceVersion": "%d", "generation": %[1]d, "annotations": {%q: %q}, "labels": {%s}, "managedFields": [%s]}, "spec": {"replicas": %d,
		"revisionHistoryLimit": 7}}`, generation, idAnnotation, id, strings.Join(labels, ", "), manager, replicas)
	if err := json.Unmarshal([]byte(text), &e.ResponseObject); err != nil {
		panic(err) // the text above
	}
	if id != "" {
		e.RequestObject = object{"metadata": map[string]any{"annotations": map[string]any{idAnnotation: id}}}
	}
	return e
}

// TestTheBooksJudgeAnApply verifies what the books say of an apply of 3 replicas over the 8 that an autoscaler has set.
func TestTheBooksJudgeAnApply(t *testing.T) {
	said := map[string]string{"webhook.ownership-handoff.io/keep-autoscaled": "kept .spec.replicas"}
	failedOpen := map[string]string{"failed-open.mutation.webhook.admission.k8s.io/round_0_index_0": "webhook.ownership-handoff.io"}
	for sentence, test := range map[string]struct {
		replicas, generation int
		annotations          map[string]string
		warnings             []string
		labels               []string
		during               consequences
		guarded              bool
		undone, unseen       bool
		refused              string
		want                 string // part of the only violation; empty for none
		lost                 int
	}{
		"lost without a word":                             {replicas: 3, want: "nobody said", lost: 1},
		"lost during a fault, without a word":             {replicas: 3, during: undecidedWrites, want: "nobody said", lost: 1},
		"lost while no pod answered":                      {replicas: 3, annotations: failedOpen, during: undecidedWrites, lost: 1},
		"lost in spite of the guard":                      {replicas: 3, annotations: failedOpen, during: undecidedWrites, guarded: true, want: "in spite of the guard", lost: 1},
		"kept by the guard":                               {replicas: 8, annotations: failedOpen, during: undecidedWrites, guarded: true},
		"skipped by the webhook, which no fault explains": {replicas: 8, warnings: []string{"handoff: skipped, internal error"}, want: "which this fault does not allow"},
		"skipped by a panic, which no fault explains":     {replicas: 8, warnings: []string{"handoff: skipped, internal error"}, during: undecidedWrites, want: "which this fault does not allow"},
		"a label that nobody has set":                     {replicas: 8, annotations: said, labels: []string{`"x": "y"`}, want: ".metadata.labels.x: want <nil>, got y"},
		"kept without a word":                             {replicas: 8, want: "nobody said so"},
		"undone, so that nothing is stored":               {replicas: 8, generation: 1, want: "write 2 of kubectl is not stored: nothing has changed"},
		"undone but for a field":                          {replicas: 8, annotations: said, undone: true, want: "write 2 of kubectl is not stored, but write 1"},
		"in no audit log":                                 {unseen: true, want: "in no audit log, although it was answered"},
		"not answered in time on a busy machine":          {replicas: 8, annotations: failedOpen},
		"a write between them is missing":                 {replicas: 3, generation: 4, want: "no line in the audit log"},
		"refused by the webhook":                          {refused: `admission webhook "webhook.ownership-handoff.io" denied the request`, want: "refused in handoff's name"},
		"a patch that does not apply":                     {refused: "Internal error occurred: error in remove for path", want: "refused in handoff's name"},
		"refused by an API server that shuts down":        {refused: "apiserver is shutting down"},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := &history{played: []span{{faults: faults{{name: "test", may: test.during}}, from: noon()}}}
			if test.guarded {
				h.guard = []span{{from: noon().Add(-time.Hour)}}
			}
			b := newBooks(h)
			w := &workload{namespace: "shop", name: "web", mode: "enforce", owner: autoscaled, way: serverSide}
			b.expect(intent{workload: w, id: "1", replicas: 3})
			b.record(applied("1", 1, 8, noon().Add(-time.Minute), nil))
			b.expect(intent{workload: w, id: "2", replicas: 3})
			var err error
			if test.refused != "" {
				err = errors.New(test.refused)
			}
			b.applied("2", test.warnings, err)
			e := applied("2", cmp.Or(test.generation, 2), test.replicas, noon().Add(time.Minute), test.annotations, test.labels...)
			if test.refused != "" {
				e.ResponseStatus.Code, e.ResponseStatus.Message = http.StatusInternalServerError, test.refused
			}
			if test.undone {
				(&unstructured.Unstructured{Object: e.ResponseObject}).SetAnnotations(map[string]string{idAnnotation: "1"})
			}
			if !test.unseen {
				b.record(e)
			}
			b.finish(nil)
			got := strings.Join(b.Violations, "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) || len(b.Violations) > 1 {
				t.Errorf("got violations %q, want %q", b.Violations, test.want)
			}
			expect.Equal(t, "lost", test.lost, b.Lost)
		})
	}
}

// TestTheBooksJudgeOtherWrites verifies what the books say of a label that a person sets, and of the object at the end.
func TestTheBooksJudgeOtherWrites(t *testing.T) {
	for sentence, test := range map[string]struct {
		replicas, atTheEnd int
		label, want        string
	}{
		"the label is stored":                {8, 8, "person", ""},
		"the label is undone":                {8, 8, "manifest", "a patch of kubectl-label is not stored: metadata.labels.tier"},
		"the label changes the replicas":     {3, 3, "person", "which sets no replicas, has changed them"},
		"the replicas are others at the end": {8, 3, "person", "shop/web at the end: generation 3, want 2"},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := newBooks(&history{})
			b.know(&workload{namespace: "shop", name: "web", mode: "enforce", owner: autoscaled, way: serverSide})
			b.record(applied("", 1, 8, noon(), nil))
			labeled := applied("", 2, test.replicas, noon().Add(time.Minute), nil, `"tier": "`+test.label+`"`)
			labeled.RequestURI, labeled.RequestObject = "/?fieldManager=kubectl-label", object{"metadata": map[string]any{"labels": map[string]any{"tier": "person"}}}
			b.record(labeled)
			end := labeled
			if test.atTheEnd != test.replicas {
				end = applied("", 3, test.atTheEnd, noon(), nil)
			}
			b.finish([]unstructured.Unstructured{*end.response()})
			if got := strings.Join(b.Violations, "\n"); test.want == "" && got != "" || !strings.Contains(got, test.want) || len(b.Violations) > 1 {
				t.Errorf("got violations %q, want %q", b.Violations, test.want)
			}
		})
	}
}

// TestAScaleDoesNotHideWhenAWriteWasLost verifies that a killed API server explains a missing write before a write of the scale, whose
// response has no generation.
func TestAScaleDoesNotHideWhenAWriteWasLost(t *testing.T) {
	killed := faults{{name: "an API server killed", may: noAPI}}
	b := newBooks(&history{played: []span{{faults: killed, from: noon(), to: noon().Add(10 * time.Second)}}})
	w := &workload{namespace: "shop", name: "web", mode: "enforce", owner: autoscaled, way: serverSide}
	b.expect(intent{workload: w, id: "1", replicas: 3})
	b.expect(intent{workload: w, id: "2", replicas: 3})
	scaled := applied("", 3, 9, noon().Add(time.Minute), nil)
	scaled.ResponseObject["kind"] = "Scale"
	for _, e := range []event{applied("1", 1, 8, noon().Add(-time.Minute), nil), scaled, applied("2", 5, 9, noon().Add(2*time.Minute), nil)} {
		b.record(e)
	}
	if len(b.Violations) > 0 || b.Unseen != 1 {
		t.Errorf("got violations %q and %d writes without a line, want one, explained", b.Violations, b.Unseen)
	}
}

// TestTheAuditLogOrdersTheWritesOfAnObject verifies that no write is taken before one with a lower version.
func TestTheAuditLogOrdersTheWritesOfAnObject(t *testing.T) {
	later, earlier := applied("2", 2, 8, noon(), nil), applied("1", 1, 8, noon(), nil)
	later.read, earlier.read = time.Now().Add(-time.Hour), time.Now()
	l := &auditLog{waiting: []event{later, earlier}}
	if got := l.take(time.Minute); len(got) > 0 {
		t.Errorf("got %d events before the first one is due", len(got))
	}
	if got := l.take(0); len(got) != 2 || got[0].version() != 1 {
		t.Errorf("got %v, want both in the order of their versions", got)
	}
}
