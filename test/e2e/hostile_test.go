package e2e_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/ownership"
)

// TestUnreadableAnnotationsDoNotScale verifies that replicas stay when last-applied is not a manifest. TestTheScaleFieldAlone in
// webhook does so for many more texts, in the live and in the incoming object, and for whatever else can be broken beside replicas.
func TestUnreadableAnnotationsDoNotScale(t *testing.T) {
	t.Parallel()
	annotated := func(text string) step {
		return runs("annotate", "--overwrite", "deployment", "web", ownership.LastAppliedAnnotation+text)
	}
	all := map[string]scenario{}
	for sentence, text := range map[string]string{"empty": "=", "null": "=null", "removed": "-"} { // kubectl itself rejects others
		all[sentence] = scenario{steps: []step{
			applies(deployment("3", "app:1")), autoscaledTo(7), annotated(text),
			applies(deployment("3", "app:2")).replicas(7), annotated(text), applies(deployment("", "app:2")).replicas(7),
		}}
	}
	all["dropped without an autoscaler"] = scenario{steps: []step{
		applies(deployment("3", "app:1")), scaled("7"), annotated("="), applies(deployment("", "app:1")).replicas(7),
	}}
	play(t, all)
	play(t, map[string]scenario{"broken, of another applier": {steps: []step{
		applies(deployment("3", "app:1")), autoscaledTo(7),
		patchedBy("argocd-controller", `{"metadata":{"annotations":{"`+ownership.LastAppliedAnnotation+`":"{broken"}},"spec":{"replicas":3}}`).
			replicas(7).says("skipped, annotation last-applied-configuration is not valid: "),
	}}}, serverSide()...)
}
