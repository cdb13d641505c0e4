package merge_test

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestAWriteThatOnlyTakesOverEntriesIsNotModified has writes that change nothing but managedFields and the last-applied configuration,
// which then sets the replicas that an autoscaler owns.
func TestAWriteThatOnlyTakesOverEntriesIsNotModified(t *testing.T) {
	const manifest7 = `{"spec":{"image":"a","replicas":7}}`
	olderVersion := func(entry string) string { return strings.Replace(entry, "apps/v1", "apps/v1beta1", 1) }
	for sentence, c := range map[string]struct {
		by             string
		live, incoming []string // the entries beside the autoscaler's
		modified       bool
	}{
		"kubectl migrates to server-side apply": {
			by: "kubectl", live: []string{csaEntry(early, image, count)}, incoming: []string{entry("kubectl", "Apply", late, image, count)},
		},
		"Flux renames the entry of a kubectl command": {
			by: "kustomize-controller", live: []string{entry("kubectl-patch", "Update", early, image, count)},
			incoming: []string{entry("kustomize-controller", "Apply", early, image, count)},
		},
		"kubectl applies in another version than before": {
			by: csa, live: []string{olderVersion(csaEntry(early, image))}, modified: true,
			incoming: []string{csaEntry(late, image, count), olderVersion(entry(csa, "Update", early, image))},
		},
		"kubectl applies, and another manager loses nothing but the last-applied configuration": {
			by: csa, live: []string{strings.Replace(csaEntry(early, image), csa, "kubectl-replace", 1)}, modified: true,
			incoming: []string{entry("kubectl-replace", "Update", early, image), csaEntry(late)},
		},
		"kubectl applies another value, and admission sets it to the live one again": {
			by: csa, live: []string{entry("sizer", "Update", early, count), csaEntry(early, image)}, modified: true,
			incoming: []string{csaEntry(late, image, count)},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			is := `{"image":"a","replicas":7}`
			live := stored{lastApplied: manifestNone, spec: is, entries: append(c.live, hpaEntry())}
			incoming := stored{lastApplied: manifest7, spec: is, entries: append(c.incoming, hpaEntry())}
			outcome := decide(t, c.by, live, incoming, nil)
			if modified := len(outcome.Operations) > 0; modified != c.modified {
				t.Errorf("want modified %t, got %s", c.modified, operationsOf(t, outcome.Operations))
			}
		})
	}
}

// TestReplicasAreKeptIfOtherDecisionsPanic lets the decisions on other fields panic, by the first step that they count.
func TestReplicasAreKeptIfOtherDecisionsPanic(t *testing.T) {
	live := stored{lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`, entries: []string{csaEntry(early, image), hpaEntry()}}
	incoming := stored{lastApplied: manifest3, spec: `{"image":"a","replicas":3}`, entries: []string{csaEntry(late, image, count)}}
	outcome := decide(t, csa, live, incoming, func(steps int) bool {
		if steps > 0 {
			panic("out of order")
		}
		return true
	})
	if !errors.Is(outcome.Skipped, merge.ErrPanic) {
		t.Errorf("want the other fields skipped because of a panic, got %v", outcome.Skipped)
	}
	if len(outcome.Changes) != 1 || outcome.Changes[0].Decision.Row != 1 || len(outcome.Operations) == 0 {
		t.Errorf("want the replicas kept, got %+v, %s", outcome.Changes, operationsOf(t, outcome.Operations))
	}
}

// TestAnEditIsPromisedOnlyIfItIsRecorded has a rule that lets a new value of the manifest win, and manifests of which the second leaves no
// room for the annotation that records the value.
func TestAnEditIsPromisedOnlyIfItIsRecorded(t *testing.T) {
	rule := ownership.Rule{
		Name: "sleeper", Fields: fieldpattern.MustParse(".spec.replicas"), Writers: []string{"sleeper"}, Edit: ownership.EditApply,
	}
	for length, remedy := range map[int]string{1: "a new manifest value wins", 256 << 10: "remove it from the manifest"} {
		manifest := `{"spec":{"image":"` + strings.Repeat("a", length) + `","replicas":3}}`
		w := writeOf(t, csa,
			stored{lastApplied: manifest, spec: `{"image":"a","replicas":7}`, entries: []string{csaEntry(early, image), entry("sleeper", "Update", early, count)}},
			stored{lastApplied: manifest, spec: `{"image":"a","replicas":3}`, entries: []string{csaEntry(late, image, count)}})
		w.Kind = appsv1.SchemeGroupVersion.WithKind("Deployment")
		out, err := merge.Decider{Cluster: unscaled{}, Managers: managers, Rules: ownership.NewRules(rule)}.Decide(w)
		if err != nil || len(out.Changes) != 1 {
			t.Fatalf("%v: want the replicas kept, got %+v", err, out.Changes)
		}
		if _, _, after := out.Changes[0].Text("", ""); !strings.HasSuffix(after, remedy) {
			t.Errorf("a manifest of %d bytes: want the remedy %q, got %q", len(manifest), remedy, after)
		}
	}
}

// unscaled is a cluster without autoscalers.
type unscaled struct{ exampleCluster }

func (unscaled) Scaler(_, _, _, _ string) ownership.Scaler { return ownership.Scaler{} }
