package webhook_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// TestWritesFollowTheDecisionTable verifies that decisions become warnings, audit annotations and a patch. The rows are tested in merge and
// test/e2e.
func TestWritesFollowTheDecisionTable(t *testing.T) {
	alone := &fakeCluster{modes: map[string]string{"shop": "enforce"}}
	hpa := "HorizontalPodAutoscaler/web"
	for sentence, c := range map[string]struct {
		cluster              *fakeCluster
		by                   string
		live, incoming, want deployment
		warnings             []string
		audit                map[string]string
	}{
		"row 1": {
			enforced(), csa, scaledBy7(), applied3(), kept7(),
			[]string{"handoff: kept .spec.replicas=7, owned by " + hpa + "; remove it from the manifest", handBack},
			map[string]string{"keep-autoscaled": "kept .spec.replicas: live 7, incoming 3, owner " + hpa + " (Autoscaler)"},
		},
		"row 9, an autoscaler's": {
			enforced(), "kubectl-patch", scaledBy7(), patched1(), patched1(),
			[]string{"handoff: " + hpa + " owns .spec.replicas and may revert this change; change the autoscaler instead"},
			map[string]string{"warn-autoscaled": "allowed .spec.replicas: live 7, incoming 1, owner " + hpa + " (Autoscaler)"},
		},
		"row 9, where nothing changes":           {enforced(), "kubectl-edit", scaledBy7(), scaledBy7(), scaledBy7(), nil, nil},
		"row 10":                                 {enforced(), "my-operator", scaledBy7(), applied3(), applied3(), nil, nil},
		"an unchanged apply after a keep":        {enforced(), csa, kept7(), kept7(), kept7(), nil, nil},
		"replicas that live does not have":       {enforced(), csa, deployment{image: "a"}, applied3(), applied3(), nil, nil},
		"an autoscaler's entry without a target": {alone, csa, scaledBy7(), applied3(), applied3(), nil, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, c.cluster)
			r := update(c.by, c.live, c.incoming)
			response := s.answer(t, r.body())
			if diff := cmp.Diff(c.warnings, response.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.audit, response.AuditAnnotations); diff != "" {
				t.Errorf("audit annotations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(unmarshal(t, c.want.text()), unmarshal(t, patchedBy(t, r.object, response.Patch))); diff != "" {
				t.Errorf("the object (-want +got):\n%s", diff)
			}
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

func TestOtherRequestsAreAllowedSilently(t *testing.T) {
	for sentence, change := range map[string]func(*request){
		"a delete":                       func(r *request) { r.operation, r.object = "DELETE", "null" },
		"a connect":                      func(r *request) { r.operation = "CONNECT" },
		"the scale subresource":          func(r *request) { r.subResource = "scale" },
		"the status subresource":         func(r *request) { r.subResource = "status" },
		"an update without an object":    func(r *request) { r.object = "null" },
		"an update without an oldObject": func(r *request) { r.oldObject = "null" },
		"an operation in other case":     func(r *request) { r.operation = "update" },
		"a kind that has no scale":       func(r *request) { r.kind = "DaemonSet" },
	} {
		for state, cluster := range map[string]*fakeCluster{"": enforced(), ", even before the cluster is known": {notReady: true}} {
			if cluster.notReady && strings.HasPrefix(sentence, "a kind") {
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
	patterns, err := ownership.ParseControllerFields(".spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
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
			if diff := cmp.Diff(c.want, response.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecisionsAreRecorded(t *testing.T) {
	row1 := update(csa, scaledBy7(), applied3())
	row9 := update("kubectl-patch", scaledBy7(), patched1())
	dry := func(r request) request { return changed(r, func(r *request) { r.dryRun = true }) }
	warnOnly := &fakeCluster{modes: map[string]string{"shop": "warn"}, autoscaler: "HorizontalPodAutoscaler/web"}
	reference := corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "object-uid"}
	for sentence, c := range map[string]struct {
		cluster        *fakeCluster
		request        request
		events         []event
		result         string
		decision, mode string
		patched, log   bool
	}{
		"kept": {
			enforced(), row1, []event{{
				"Normal", "OwnershipKept", "Apply",
				"kept .spec.replicas: live 7, incoming 3, owner HorizontalPodAutoscaler/web (Autoscaler)", reference,
			}}, "patched", "keep-autoscaled", "enforce", true, true,
		},
		"kept by a dry run":           {enforced(), dry(row1), nil, "patched", "keep-autoscaled", "enforce", true, true},
		"would be kept by a dry run":  {warnOnly, dry(row1), nil, "warned", "keep-autoscaled", "warn", false, true},
		"a person was let through":    {enforced(), row9, nil, "warned", "warn-autoscaled", "enforce", false, true},
		"an update of no consequence": {enforced(), update(csa, kept7(), kept7()), nil, "unchanged", "", "", false, false},
		"would be kept": {
			warnOnly, row1, []event{{
				"Normal", "OwnershipWouldBeKept", "Apply",
				"would keep .spec.replicas: live 7, incoming 3, owner HorizontalPodAutoscaler/web (Autoscaler)", reference,
			}}, "warned", "keep-autoscaled", "warn", false, true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newServer(t, c.cluster)
			if response := s.answer(t, c.request.body()); (response.Patch != nil) != c.patched {
				t.Errorf("a patch: want %t, got %s", c.patched, response.Patch)
			}
			if diff := cmp.Diff(c.events, s.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if n := s.counted(t, "handoff_reviews_total", map[string]string{"result": c.result}); n != 1 {
				t.Errorf("handoff_reviews_total of %s: want 1, got %v", c.result, n)
			}
			want := map[bool]float64{true: 1, false: 0}[c.decision != ""]
			labels := map[string]string{"decision": c.decision, "mode": c.mode, "owner": "Autoscaler"}
			if n := s.counted(t, "handoff_decisions_total", labels); n != want {
				t.Errorf("handoff_decisions_total of %s: want %v, got %v", c.decision, want, n)
			}
			if n := s.counted(t, "handoff_failed_open_total", nil); n != 0 {
				t.Errorf("nothing failed, got %v", n)
			}
			if got := strings.Contains(s.logged(), `"decision"="`+c.decision) && s.logged() != ""; got != c.log {
				t.Errorf("logged: want %t, got %q", c.log, s.logged())
			}
		})
	}
}

func TestEventsAreOptional(t *testing.T) {
	s := newServer(t, enforced())
	s.Events = nil
	if response := s.answer(t, update(csa, scaledBy7(), applied3()).body()); response.Patch == nil {
		t.Errorf("a patch is expected, got %q", response.Warnings)
	}
}
