package merge_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestAWriteThatOnlyTakesOverEntriesIsNotModified has writes that change nothing but managedFields and the last-applied configuration,
// which then sets the replicas that an autoscaler owns.
func TestAWriteThatOnlyTakesOverEntriesIsNotModified(t *testing.T) {
	const manifest7 = `{"spec":{"image":"a","replicas":7}}`
	olderVersion := func(entry string) string { return strings.Replace(entry, "apps/v1", "apps/v1beta1", 1) }
	for sentence, c := range map[string]struct {
		live, incoming []string // the entries beside the autoscaler's
		modified       bool
	}{
		"a manager takes over the fields of another": {
			live: []string{entry("kubectl", "Update", early, image)}, incoming: []string{csaEntry(late, image, count)},
		},
		"kubectl applies in another version than before": {
			live: []string{olderVersion(csaEntry(early, image))}, modified: true,
			incoming: []string{csaEntry(late, image, count), olderVersion(entry(csa, "Update", early, image))},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			is := `{"image":"a","replicas":7}`
			live, _ := parsed(t, stored{lastApplied: manifestNone, spec: is, entries: append(c.live, hpaEntry())}.text())
			incoming, _ := parsed(t, stored{lastApplied: manifest7, spec: is, entries: append(c.incoming, hpaEntry())}.text())
			outcome, err := merge.Decider{Cluster: exampleCluster{}, Managers: managers}.Decide(ownership.Write{
				Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Name: "web", FieldManager: csa, Live: live, Incoming: incoming,
			})
			if err != nil {
				t.Fatal(err)
			}
			if modified := len(outcome.Operations) > 0; modified != c.modified {
				t.Errorf("want modified %t, got %s", c.modified, operationsOf(t, outcome.Operations))
			}
		})
	}
}
