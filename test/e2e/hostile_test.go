package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/ownership"
)

// annotated writes last-applied as kubectl annotate does.
func annotated(value string) step {
	return runs("annotate", "--overwrite", "deployment", "web", ownership.LastAppliedAnnotation+"="+value)
}

// appliedAs is the patch of an applier that records a manifest, and sets replicas in JSON.
func appliedAs(manifest, replicas string) step {
	return step{do: func(s stage) result {
		s.Helper()
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{ownership.LastAppliedAnnotation: manifest}},
			"spec":     map[string]any{"replicas": json.RawMessage(replicas)},
		})
		if err != nil {
			s.Fatal(err)
		}
		return patchedBy("argocd-controller", string(patch)).do(s)
	}}
}

// lastAppliedOf returns the annotation of the Deployment web with fields of its spec.
func lastAppliedOf(spec string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"NAMESPACE"},"spec":` + spec + `}`
}

// TestUnreadableAnnotationsDoNotScale verifies, as TestTheScaleFieldAlone in webhook does for many more texts, that replicas stay when last-applied, of the live or the incoming object, is not a
// manifest.
func TestUnreadableAnnotationsDoNotScale(t *testing.T) {
	t.Parallel()
	all := map[string]scenario{}
	for name, text := range map[string]string{
		"empty": "", "broken": "{broken", "deep": strings.Repeat("[", 20_000), "duplicate keys": `{"spec":{"replicas":3},"spec":{"replicas":9}}`,
	} {
		all[name+", in the live object, under an HPA"] = scenario{steps: []step{
			applies(deployment("3", "app:1")), autoscaledTo(7), annotated(text),
			appliedAs(lastAppliedOf(`{"replicas":3}`), "3").replicas(7),
			annotated(text),
			appliedAs(lastAppliedOf(`{}`), "null").replicas(7),
		}}
		all[name+", in the incoming object, under an HPA"] = scenario{steps: []step{
			applies(deployment("3", "app:1"), "--field-manager=argocd-controller"), autoscaledTo(7),
			appliedAs(text, "3").replicas(7),
			appliedAs(text+" ", "null").replicas(7),
		}}
		all[name+", in the live object, applied server-side"] = scenario{steps: []step{
			applies(deployment("3", "app:1"), serverSide()...), autoscaledTo(7), annotated(text),
			did(func(n *namespace) { n.appliedBy("kustomize-controller", string(jsonOf(n, deployment("3", "app:2")))) }).replicas(7),
			did(func(n *namespace) { n.appliedBy("kustomize-controller", string(jsonOf(n, deployment("", "app:2")))) }).replicas(7),
		}}
		all[name+", in the live object, the manifest lacks replicas"] = scenario{steps: []step{
			applies(deployment("3", "app:1")), runs("scale", "deployment", "web", "--replicas=7"), annotated(text),
			appliedAs(lastAppliedOf(`{}`), "null").replicas(7),
		}}
		all[name+", in the incoming object, without an autoscaler"] = scenario{steps: []step{
			applies(deployment("7", "app:1"), "--field-manager=argocd-controller"),
			appliedAs(text, "null").replicas(7),
		}}
	}
	for _, text := range []string{"", "null"} { // kubectl itself rejects others
		all["kubectl, after "+text] = scenario{steps: []step{
			applies(deployment("3", "app:1")), autoscaledTo(7), annotated(text),
			applies(deployment("3", "app:2")).replicas(7),
			annotated(text),
			applies(deployment("", "app:2")).replicas(7),
		}}
	}
	all["broken, with a warning"] = scenario{steps: []step{
		applies(deployment("3", "app:1"), serverSide()...), autoscaledTo(7),
		appliedAs("{broken", "3").replicas(7).says("skipped, annotation last-applied-configuration is not valid: "),
	}}
	all["a removed annotation"] = scenario{steps: []step{
		applies(deployment("3", "app:1")), autoscaledTo(7),
		runs("annotate", "deployment", "web", ownership.LastAppliedAnnotation+"-"),
		applies(deployment("3", "app:2")).replicas(7),
	}}
	play(t, all)
}

// manyVariables returns a Deployment with environment variables, of which each value is text.
func manyVariables(manifest string, count int, text string) string {
	var env strings.Builder
	for i := range count {
		fmt.Fprintf(&env, "        - {name: VARIABLE_%d, value: %q}\n", i, text)
	}
	return manifest + "        env:\n" + env.String()
}

// TestReplicasDoNotShareTheFateOfOtherFields verifies that an error of a rule or another field does not let replicas through.
func TestReplicasDoNotShareTheFateOfOtherFields(t *testing.T) {
	t.Parallel()
	manyRules := make([]string, 2000)
	for i := range manyRules {
		manyRules[i] = fmt.Sprintf(".spec.template.spec.containers[*].env[*].a%d", i)
	}
	broken := map[string]func(manifest string) string{
		"a rule that is broken": func(m string) string { return ruled(`.spec.template.spec.containers[name="`, m) },
		"a rule of everything":  func(m string) string { return ruled(".metadata, .spec, .status", m) },
		"2,000 rules of 1,000 variables": func(m string) string {
			return manyVariables(ruled(strings.Join(manyRules, ","), m), 1000, "x")
		},
	}
	all := map[string]scenario{}
	for name, of := range broken {
		all[name] = scenario{steps: []step{
			applies(of(deployment("3", "app:1"))), autoscaledTo(7), patchedBy("my-operator", `{"spec":{"minReadySeconds":5}}`),
			applies(of(deployment("3", "app:2"))).replicas(7), applies(of(deployment("", "app:2"))).replicas(7),
		}}
		all[name+", dropped by its only manager"] = scenario{steps: []step{
			applies(of(deployment("7", "app:1"))), applies(of(deployment("", "app:2"))).replicas(7),
		}}
	}
	playBy(t, bothSides(), all)
}
