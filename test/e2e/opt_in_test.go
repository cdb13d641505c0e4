package e2e_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/optin"
)

// labeledMode returns a Deployment with the mode label.
func labeledMode(mode string) string {
	return withMetadata("labels: {"+optin.Label+": \""+mode+"\"}", deployment("3", "app:1"))
}

func labeled(mode string) step {
	return runs("label", "--overwrite", "deployment", "web", optin.Label+"="+mode)
}

// rolledOut waits until the deployment controller has created a revision of the Deployment web.
func rolledOut(revision string) step {
	return did(func(n *namespace) {
		n.Helper()
		n.eventually("the controller creates revision "+revision, func() bool {
			return n.object().GetAnnotations()["deployment.kubernetes.io/revision"] == revision
		})
	})
}

// TestRolloutUndoKeepsTheOptIn returns to a revision that an object had before it opted in. kubectl also restores the annotations of
// that revision, and no labels.
func TestRolloutUndoKeepsTheOptIn(t *testing.T) {
	t.Parallel()
	play(t, map[string]scenario{"of an object with the label": {mode: without, steps: []step{
		applies(deployment("3", "app:1")), rolledOut("1"), applies(deployment("3", "app:2")), rolledOut("2"), labeled("enforce"),
		runs("rollout", "undo", "deployment", "web").value(`.metadata.labels.ownership-handoff\.io/mode`, "enforce"),
		autoscaledTo(7), applies(deployment("3", "app:1")).warns(keptReplicas(7, hpa)...).replicas(7),
	}}})
}

// TestAManifestThatDropsTheLabelTakesTheObjectOut verifies that the object is in the mode of its namespace in the same write, and
// that handoff never keeps its own label.
func TestAManifestThatDropsTheLabelTakesTheObjectOut(t *testing.T) {
	t.Parallel()
	drops := func(namespace, label, byHand, replicas string) scenario {
		steps := []step{
			applies(labeledMode(label)), idlesAt(7), untilDryRun(labeledMode("enforce"), ".spec.replicas", "7"),
		}
		if byHand != "" {
			steps = append(steps, labeled(byHand))
		}
		return scenario{mode: namespace, steps: append(steps, stores(replicas, deployment("3", "app:2")).value(".metadata.labels", ""))}
	}
	playBy(t, bothSides(), map[string]scenario{
		"a namespace without a mode": drops(without, "enforce", "", "3"),
		"a namespace in enforce":     drops("enforce", "off", "", "7"),
	})
	play(t, map[string]scenario{
		"a person has changed it, a namespace in off":     drops("off", "warn", "enforce", "3"),
		"a person has changed it, a namespace in enforce": drops("enforce", "off", "warn", "7"),
	})
}
