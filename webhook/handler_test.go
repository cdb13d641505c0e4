package webhook_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/ownership"
)

// kept7 is the object that keeping row 1's field leaves: all is as in scaledBy7, but for the manifest.
func kept7() deployment {
	d := scaledBy7().with(lastApplied, manifestNone)
	d.entries = []string{
		entry("kube-controller-manager", "Update", "", managesReplicas, "scale"), entry(csa, "Update", late, managesApplied, ""),
	}
	return d
}

// handBack is the second warning if an autoscaler keeps its replicas from a manifest that sets another number.
const handBack = "handoff: to hand replicas back to the manifest, apply again after deleting the autoscaler"

// TestWritesFollowTheDecisionTable verifies that decisions become a patch, warnings, audit annotations, Events, metrics and log lines, for one
// row of each kind. All rows are tested in merge and test/e2e.
func TestWritesFollowTheDecisionTable(t *testing.T) {
	const hpa = "HorizontalPodAutoscaler/web"
	alone := &fakeCluster{modes: map[string]string{"shop": "enforce"}}
	warnOnly := &fakeCluster{modes: map[string]string{"shop": "warn"}, autoscaler: hpa}
	row1, row9 := update(csa, scaledBy7(), applied3()), update("kubectl-patch", scaledBy7(), patched1())
	dry := changed(row1, func(r *request) { r.dryRun = true })
	const said = " .spec.replicas: live 7, incoming 3, owner " + hpa + " (Autoscaler)"
	kept := []string{"handoff: kept .spec.replicas=7, owned by " + hpa + "; remove it from the manifest", handBack}
	would := []string{"handoff: (warn) would keep .spec.replicas=7, owned by " + hpa + "; remove it from the manifest"}
	recorded := func(reason, note string) []event {
		reference := corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "object-uid", FieldPath: "spec.replicas"}
		return []event{{"Normal", reason, "Apply", note, reference}}
	}
	for sentence, c := range map[string]struct {
		cluster  *fakeCluster
		request  request
		want     deployment
		warnings []string
		decision string // in the audit annotations, the metrics and the log
		audit    string
		events   []event
		result   string
	}{
		"row 1":                        {enforced(), row1, kept7(), kept, "keep-autoscaled", "kept" + said, recorded("OwnershipKept", "kept"+said), "patched"},
		"row 1, in a dry run":          {enforced(), dry, kept7(), kept, "keep-autoscaled", "kept" + said, nil, "patched"},
		"row 1, in mode warn":          {warnOnly, row1, applied3(), would, "keep-autoscaled", "would keep" + said, recorded("OwnershipWouldBeKept", "would keep"+said), "warned"},
		"row 1, in both":               {warnOnly, dry, applied3(), would, "keep-autoscaled", "would keep" + said, nil, "warned"},
		"row 9, where nothing changes": {enforced(), update("kubectl-edit", scaledBy7(), scaledBy7()), scaledBy7(), nil, "", "", nil, "unchanged"},
		"row 9": {
			enforced(), row9, patched1(), []string{"handoff: " + hpa + " owns .spec.replicas and may revert this change; change the autoscaler instead"},
			"warn-autoscaled", "allowed .spec.replicas: live 7, incoming 1, owner " + hpa + " (Autoscaler)", nil, "warned",
		},
		"row 10":                                 {enforced(), update("my-operator", scaledBy7(), applied3()), applied3(), nil, "", "", nil, "unchanged"},
		"an unchanged apply after a keep":        {enforced(), update(csa, kept7(), kept7()), kept7(), nil, "", "", nil, "unchanged"},
		"replicas that live does not have":       {enforced(), update(csa, deployment{image: "a"}, applied3()), applied3(), nil, "", "", nil, "unchanged"},
		"an autoscaler's entry without a target": {alone, row1, applied3(), nil, "", "", nil, "unchanged"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, c.cluster)
			response := s.answer(t, c.request.body())
			expect.Equal(t, "the object", unmarshal(t, c.want.text()), unmarshal(t, patchedBy(t, c.request.object, response.Patch)))
			var audit map[string]string
			labels := map[string]string{"mode": c.cluster.modes["shop"], "owner": "Autoscaler"}
			if c.decision != "" {
				audit, labels["decision"] = map[string]string{c.decision: c.audit}, c.decision
			}
			expect.Equal(t, "warnings", c.warnings, response.Warnings)
			expect.Equal(t, "audit annotations", audit, response.AuditAnnotations)
			expect.Equal(t, "Events", c.events, s.events)
			expect.Equal(t, "handoff_reviews_total of "+c.result, 1.0, s.counted(t, "handoff_reviews_total", map[string]string{"result": c.result}))
			expect.Equal(t, "handoff_decisions_total of "+c.decision, float64(len(audit)), s.counted(t, "handoff_decisions_total", labels))
			expect.Equal(t, "handoff_failed_open_total", 0.0, s.counted(t, "handoff_failed_open_total", nil))
			expect.Equal(t, "logged", c.decision != "", strings.Contains(s.logged(), `"decision"="`+c.decision))
		})
	}
}

func patchedBy(tb testing.TB, object string, patch []byte) string {
	tb.Helper()
	if patch == nil {
		return object
	}
	got, err := applyPatch(object, patch)
	if err != nil {
		tb.Fatalf("the patch does not apply: %v: %s to %s", err, patch, object)
	}
	return got
}

// TestOtherRequestsAreAllowedSilently has reviews that are broken where handoff does not look, too.
func TestOtherRequestsAreAllowedSilently(t *testing.T) {
	broken := applied3().with(lastApplied, "{")
	for sentence, change := range map[string]func(*request){
		"a delete":                       func(r *request) { r.operation, r.object = "DELETE", "null" },
		"a connect":                      func(r *request) { r.operation = "CONNECT" },
		"the scale subresource":          func(r *request) { r.subResource = "scale" },
		"the status subresource":         func(r *request) { r.subResource = "status" },
		"an update without an object":    func(r *request) { r.object = "null" },
		"an update without an oldObject": func(r *request) { r.oldObject = "null" },
		"an operation in other case":     func(r *request) { r.operation = "update" },
		"a kind that has no scale":       func(r *request) { r.kind = "DaemonSet" },
		"a writer who is no applier":     func(r *request) { r.manager, r.object = "my-operator", broken.text() },
		"a namespace without the mode": func(r *request) {
			r.namespace, r.object = "other", `{"metadata":{"managedFields":"broken"}}`
		},
	} {
		for state, cluster := range map[string]*fakeCluster{"": enforced(), ", even before the cluster is known": {notReady: true}} {
			if isOther := slices.Contains([]string{"a kind that has no scale", "a writer who is no applier", "a namespace without the mode"}, sentence); isOther && cluster.notReady {
				continue // only the cluster knows that
			}
			t.Run(sentence+state, func(t *testing.T) {
				silent(t, newServer(t, cluster), changed(update(csa, scaledBy7(), applied3()), change))
			})
		}
	}
}

func TestRulesAndAnnotationsMakeControllersOwners(t *testing.T) {
	live, incoming := scaledBy7(), applied3()
	live.entries[0] = entry("my-scaler", "Update", early, managesReplicas, "")
	kept := []string{"handoff: kept .spec.replicas=7, owned by my-scaler; remove it from the manifest"}
	patterns := fieldpattern.MustParse(".spec.replicas")
	for sentence, c := range map[string]struct {
		annotation string
		rules      []ownership.Rule
		want       []string
	}{
		"neither":                      {"", nil, nil},
		"a rule for the kind":          {"", []ownership.Rule{{Kinds: []schema.GroupKind{{Group: "apps", Kind: "Deployment"}}, Fields: patterns}}, kept},
		"a rule for another kind":      {"", []ownership.Rule{{Kinds: []schema.GroupKind{{Group: "apps", Kind: "StatefulSet"}}, Fields: patterns}}, nil},
		"the object's annotation":      {".spec.paused, .spec.replicas", nil, kept},
		"an annotation of other paths": {".spec.paused", nil, nil},
		"an annotation half broken": {
			"spec,.spec.replicas", nil,
			append([]string{`handoff: annotation controller-fields: path spec: at "spec": a dot is missing before a field name`}, kept...),
		},
		"an annotation with a path that no rule keeps": {
			".status.replicas, .spec.replicas", nil,
			append([]string{"handoff: annotation controller-fields: .status.replicas is in status, which manifests do not set; delete the path"}, kept...),
		},
		"an annotation broken for long": {
			"a" + strings.Repeat("b", 300), nil,
			[]string{("handoff: annotation controller-fields: path a" + strings.Repeat("b", 300))[:117] + "..."},
		},
		"an annotation on several lines": {
			"x\n\ty", nil,
			[]string{`handoff: annotation controller-fields: path x: at "x": a dot is missing before a field name path y: at "y": a dot is ...`},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, &fakeCluster{modes: map[string]string{"shop": "enforce"}})
			s.rules = c.rules
			object := incoming
			if c.annotation != "" {
				object = incoming.with(ownership.ControllerFieldsAnnotation, c.annotation)
			}
			response := s.answer(t, update(csa, live, object).body())
			expect.Equal(t, "warnings", c.want, response.Warnings)
		})
	}
}
