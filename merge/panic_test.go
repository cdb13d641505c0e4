package merge_test

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestReplicasAreKeptIfOtherDecisionsPanic lets the decisions on other fields panic, by the first step that they count.
func TestReplicasAreKeptIfOtherDecisionsPanic(t *testing.T) {
	live, _ := parsed(t, stored{lastApplied: manifestNone, spec: `{"image":"a","replicas":7}`, entries: []string{csaEntry(early, image), hpaEntry()}}.text())
	incoming, _ := parsed(t, stored{lastApplied: `{"spec":{"image":"a","replicas":3}}`, spec: `{"image":"a","replicas":3}`, entries: []string{csaEntry(late, image, count)}}.text())
	outcome, err := merge.Decider{Cluster: exampleCluster{}, Managers: managers}.Decide(ownership.Write{
		Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Name: "web", FieldManager: csa, Live: live, Incoming: incoming,
		Meter: func(steps int) bool {
			if steps > 0 {
				panic("out of order")
			}
			return true
		},
	})
	if err != nil || !errors.Is(outcome.Skipped, merge.ErrPanic) {
		t.Errorf("want the other fields skipped because of a panic, got %v, %v", outcome.Skipped, err)
	}
	if len(outcome.Changes) != 1 || outcome.Changes[0].Decision.Row != 1 || len(outcome.Operations) == 0 {
		t.Errorf("want the replicas kept, got %+v, %s", outcome.Changes, operationsOf(t, outcome.Operations))
	}
}
