package webhook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// objectHistory is what happened to an object up to the write that is reviewed, and the review's outcome.
type objectHistory struct {
	kind          objectKind
	steps         []string // what happened, for people
	serverSide    bool
	live          string
	incoming      string
	applier       string // the field manager of the write
	before        set    // what the first manifest sets
	wrote         []int  // slots that share the parent that a manager other than the applier wrote to last
	ruled         []fieldpath.Path
	hasAutoscaler bool

	response *admissionv1.AdmissionResponse
	server   *server
	patched  string
	// kept are the fields that any text of the webhook calls kept, cleared those that it calls cleared.
	kept, cleared []fieldpath.Path
	unknown       []string // what texts call kept and is no field of live
}

// set are values of slots by their index; nil is null in a manifest.
type set map[int]any

func (k objectKind) manifestOf(t *testing.T, s set) string {
	t.Helper()
	var object any = objectOf(t, k.skeleton).Object
	for _, i := range slices.Sorted(maps.Keys(s)) {
		object = setAt(object, k.slots[i].path, s[i])
	}
	return encode(object)
}

// widgetCluster knows the scale of all generated kinds.
type widgetCluster struct{ fakeCluster }

func (c *widgetCluster) ScalePath(group, version, kind string) fieldpath.Path {
	if kind == "Widget" {
		return fieldpath.MakePathOrDie("spec", "scaling", "replicas")
	}
	return c.fakeCluster.ScalePath(group, version, kind)
}

// siblings returns the slots that share a random ancestor of a random slot.
func (k objectKind) siblings(random *rand.Rand) []int {
	path := k.slots[random.IntN(len(k.slots))].path
	length := len(path) - 1
	if length > 3 && random.IntN(2) == 0 {
		length--
	}
	var found []int
	for i, s := range k.slots {
		if isPrefix(path[:length], s.path) {
			found = append(found, i)
		}
	}
	return found
}

// newObjectHistory generates a objectHistory: a manifest is applied, others write, and the next manifest drops parents and fields.
func newObjectHistory(t *testing.T, k objectKind, random *rand.Rand) *objectHistory {
	t.Helper()
	l := &objectHistory{kind: k, serverSide: random.IntN(4) == 0, applier: csa, hasAutoscaler: random.IntN(2) == 0}
	if l.serverSide {
		l.applier = []string{"kubectl", "kustomize-controller"}[random.IntN(2)]
	}
	before := set{}
	l.before = before
	for range 1 + random.IntN(4) { // whole parents, so that there is something to drop
		for _, i := range k.siblings(random) {
			if random.IntN(4) > 0 {
				before[i] = k.slots[i].values[random.IntN(len(k.slots[i].values))]
			}
		}
	}
	l.create(t, k.manifestOf(t, before), random)
	for range 1 + random.IntN(3) {
		l.write(t, random)
	}
	if random.IntN(6) == 0 { // applied again in between
		l.live = l.apply(t, l.live, k.manifestOf(t, before))
		l.note("applied again")
		l.write(t, random)
	}
	for _, s := range k.slots {
		if random.IntN(4) == 0 {
			l.ruled = append(l.ruled, s.path)
		}
	}
	after := k.change(before, !l.serverSide, random)
	if random.IntN(4) > 0 { // a parent that others wrote to leaves the manifest
		maps.DeleteFunc(after, func(i int, _ any) bool { return slices.Contains(l.wrote, i) })
	}
	l.incoming = l.apply(t, l.live, k.manifestOf(t, after))
	l.note("applied %s", k.manifestOf(t, after))
	return l
}

func (l *objectHistory) note(format string, args ...any) {
	l.steps = append(l.steps, fmt.Sprintf(format, args...))
}

func (l *objectHistory) create(t *testing.T, manifest string, random *rand.Rand) {
	t.Helper()
	empty := l.kind.skeleton
	if random.IntN(5) == 0 {
		created := manifest
		if random.IntN(2) == 0 {
			created = annotated(t, manifest)
		}
		l.live = l.kind.update(t, encode(map[string]any{
			"apiVersion": l.kind.gvk.GroupVersion().String(), "kind": l.kind.gvk.Kind, "metadata": map[string]any{},
		}), created, "kubectl-create")
		l.note("created by kubectl-create: %s", created)
		empty = l.live
	}
	l.live = l.apply(t, empty, manifest)
	l.note("applied by %s: %s", l.applier, manifest)
}

func (l *objectHistory) apply(t *testing.T, live, manifest string) string {
	t.Helper()
	if l.serverSide {
		return l.kind.applyServerSide(t, live, manifest, l.applier)
	}
	return l.kind.applyClientSide(t, live, manifest)
}

// write is a write of a person, a controller or an autoscaler: some or all siblings under one parent.
func (l *objectHistory) write(t *testing.T, random *rand.Rand) {
	t.Helper()
	if l.kind.scale != nil && random.IntN(3) == 0 {
		by := []string{"kube-controller-manager", "kubectl"}[random.IntN(2)]
		object := setAt(objectOf(t, l.live).Object, l.kind.scale, int64(4+random.IntN(5)))
		l.live = l.kind.scaleTo(t, l.live, encode(object), by)
		l.note("scaled by %s: %v", by, l.kind.scale)
	}
	by := []string{"kubectl-edit", "kubectl-patch", "kubectl-set", "vpa", "my-operator"}[random.IntN(5)]
	var object any = objectOf(t, l.live).Object
	all := random.IntN(2) == 0
	l.wrote = l.kind.siblings(random)
	for range 3 { // above all what the manifest sets
		if slices.ContainsFunc(l.wrote, func(i int) bool { _, set := l.before[i]; return set && len(l.wrote) > 1 }) {
			break
		}
		l.wrote = l.kind.siblings(random)
	}
	for _, i := range l.wrote {
		s := l.kind.slots[i]
		if !all && random.IntN(2) == 0 {
			continue
		}
		if random.IntN(12) == 0 {
			unsetAt(object, s.path)
			l.note("%s removed %v", by, s.path)
			continue
		}
		at := random.IntN(len(s.values))
		if s.values[at] == l.before[i] && random.IntN(6) > 0 {
			at = (at + 1) % len(s.values) // the manifest's own value would leave the field to the manifest
		}
		value := s.values[at]
		object = setAt(object, s.path, value)
		l.note("%s set %v to %v", by, s.path, encode(value))
	}
	l.live = l.kind.update(t, l.live, encode(object), by)
}

// change returns the next manifest: whole parents leave it, single fields leave it, others are set again.
func (k objectKind) change(before set, nulls bool, random *rand.Rand) set {
	after := maps.Clone(before)
	for range random.IntN(4) {
		for _, i := range k.siblings(random) {
			delete(after, i)
		}
	}
	if random.IntN(2) == 0 {
		return after
	}
	for i, s := range k.slots {
		switch random.IntN(12) {
		case 0, 1:
			delete(after, i)
		case 2:
			after[i] = s.values[random.IntN(len(s.values))]
		case 3:
			if nulls && random.IntN(4) == 0 && len(s.path) < 5 { // kubectl refuses a null in the element of a list
				after[i] = nil
			}
		}
	}
	return after
}

// review sends the write, and collects what the webhook says about it.
func (l *objectHistory) review(t *testing.T) {
	t.Helper()
	l.server = newServer(t, l.cluster())
	var logged []string
	l.server.Log = funcr.NewJSON(func(line string) { logged = append(logged, line) }, funcr.Options{Verbosity: 10})
	l.server.Rules = l.rules(t)
	l.response = send(t, l.server, l.body(l.incoming))
	l.patched = l.incoming
	if l.response.Patch != nil {
		l.patched = patchedBy(t, l.incoming, l.response.Patch)
	}
	known := map[string]fieldpath.Path{}
	l.kind.fieldsOf(t, l.live).Iterate(func(path fieldpath.Path) {
		for length := 1; length <= len(path); length++ {
			for _, spelled := range spellings(path[:length]) {
				known[spelled] = path[:length].Copy()
			}
		}
	})
	for _, text := range append(l.texts(logged), l.response.Warnings...) {
		kept, unknown := named(text, "kept ", known)
		cleared, _ := named(text, "cleared ", known)
		l.kept, l.cleared, l.unknown = append(l.kept, kept...), append(l.cleared, cleared...), append(l.unknown, unknown...)
	}
	l.kept = distinct(l.kept)
}

// texts are what is said in Events, audit annotations and the log.
func (l *objectHistory) texts(logged []string) []string {
	var texts []string
	for _, e := range l.server.events {
		texts = append(texts, e.Note)
	}
	texts = append(texts, slices.Sorted(maps.Values(l.response.AuditAnnotations))...)
	for _, line := range logged {
		var members map[string]any
		if json.Unmarshal([]byte(line), &members) != nil {
			continue
		}
		for _, value := range members {
			if text, ok := value.(string); ok {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

func distinct(paths []fieldpath.Path) []fieldpath.Path {
	slices.SortFunc(paths, fieldpath.Path.Compare)
	return slices.CompactFunc(paths, fieldpath.Path.Equals)
}

func (l *objectHistory) cluster() *widgetCluster {
	c := &widgetCluster{fakeCluster{modes: map[string]string{"shop": "enforce"}}}
	if l.hasAutoscaler && l.kind.scale != nil {
		c.autoscaler = "HorizontalPodAutoscaler/web"
	}
	return c
}

func (l *objectHistory) rules(t *testing.T) []ownership.Rule {
	t.Helper()
	rule := ownership.Rule{Group: l.kind.gvk.Group, Kind: l.kind.gvk.Kind}
	for _, path := range l.ruled {
		for _, spelled := range slices.Backward(spellings(path)) {
			if pattern, err := ownership.ParsePattern(spelled); err == nil && pattern.Matches(path) {
				rule.Fields = append(rule.Fields, pattern)
				break
			}
		}
	}
	return []ownership.Rule{rule}
}

func (l *objectHistory) body(incoming string) string {
	return updateOf(l.kind.gvk.Group, l.kind.gvk.Version, l.kind.gvk.Kind, l.applier, l.live, incoming)
}

// updateOf is an update of the object web in the namespace shop.
func updateOf(group, version, kind, manager, live, incoming string) string {
	gvk := `{"group":` + strconv.Quote(group) + `,"version":` + strconv.Quote(version) + `,"kind":` + strconv.Quote(kind) + `}`
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"review-uid","kind":` + gvk +
		`,"name":"web","namespace":"shop","operation":"UPDATE","userInfo":{"username":"me"},"object":` + incoming +
		`,"oldObject":` + live + `,"dryRun":false,"options":{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":` +
		strconv.Quote(manager) + `}}}`
}

func send(t *testing.T, handler http.Handler, body string) *admissionv1.AdmissionResponse {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate", strings.NewReader(body)))
	return allowed(t, recorder.Code, recorder.Body.Bytes())
}

func (l *objectHistory) String() string {
	return fmt.Sprintf("%s\nlive     %s\nincoming %s\nrules %v, autoscaler %t\npatch    %s\nwarnings %q\naudit %q",
		strings.Join(l.steps, "\n"), l.live, l.incoming, l.ruled, l.hasAutoscaler, l.response.Patch, l.response.Warnings, l.response.AuditAnnotations)
}
