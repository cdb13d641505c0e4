package e2e_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/test/objects"
)

// app returns a Deployment with additional fields in its only container and in its pod spec.
func app(container, pod string) string {
	indented := func(spaces, lines string) string {
		var all strings.Builder
		for line := range strings.Lines(lines) {
			all.WriteString(spaces + strings.TrimSuffix(line, "\n") + "\n")
		}
		return all.String()
	}
	return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
` + indented("      ", pod) + `      containers:
      - name: app
        image: registry.invalid/app:1
` + indented("        ", container)
}

func (n *namespace) jsonpath(path string) string {
	n.Helper()
	return objects.JSONPath(n.T, n.object(), path)
}

// The parent of the scale field comes back as it was, with its other fields.
func TestTheParentOfTheScaleFieldIsKept(t *testing.T) {
	t.Parallel()
	withGadgets(t)
	play(t, map[string]scenario{"with a field that a user has changed": {kind: "gadget", steps: []step{
		applies(gadget("{other: 1, pool: {size: 3, zone: a}}")),
		patchedBy("kubectl-patch", `{"spec":{"pool":{"zone":"b"}}}`),
		runs("scale", "gadget", "web", "--replicas=6"),
		did(func(n *namespace) {
			n.must(n.run(idle("e2e.example.com/v1", "Gadget"), "create", "-f", "-"))
			n.eventually("handoff knows of the autoscaler", func() bool {
				r := n.run(gadget("{other: 1, pool: {size: 2, zone: b}}"), "apply", "--dry-run=server", "-f", "-")
				return strings.Contains(r.stderr, "HorizontalPodAutoscaler")
			})
		}),
		applies(gadget("{other: 1}")).value(".spec.pool", `{"size":6,"zone":"b"}`),
	}}})
}

// TestLimitsBelowTheRequestsSetByAController verifies the same for a field of a controller rule.
func TestLimitsBelowTheRequestsSetByAController(t *testing.T) {
	t.Parallel()
	limited := func(limit string) step {
		return applies(ruled(".spec.template.spec.containers[*].resources.requests",
			app("resources: {requests: {cpu: 10m}, limits: {cpu: "+limit+"}}", "")))
	}
	play(t, map[string]scenario{"the manifest's request has to win": {steps: []step{
		limited("90m"), runs("patch", "deployment", "web", "--field-manager=vpa", "-p", strings.Replace(resources, "50m", "80m", 1)),
		limited("90m").value(cpu, "80m"),
		limited("50m").value(cpu, "10m"),
	}}})
}

func TestAValueChangedByAPolicyIsNotRemovedFromTheManifest(t *testing.T) {
	cluster.Plane.NeedMutatingPolicies(t)
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(deployment("", "app:1"))
	n.wantReplicas(1)
	n.kubectl("label", "namespace", n.name, "e2e-at-least=two")
	n.apply(strings.ReplaceAll(testdata("at-least-two"), "{version}", cluster.Plane.PoliciesVersion()))
	t.Cleanup(func() {
		n.run("", "delete", "mutatingadmissionpolicybinding,mutatingadmissionpolicy", "e2e-at-least-two")
	})
	n.eventually("the policy is in effect", func() bool {
		out := n.kubectl("patch", "deployment", "web", "--dry-run=server", "-o", "jsonpath={.spec.replicas}", "-p",
			`{"metadata":{"labels":{"try":"again"}}}`).stdout
		return out == "2"
	})
	n.apply(deployment("", "app:2"))
	n.wantReplicas(2)
}

func unionOf(t *testing.T, a, b []byte) []byte {
	t.Helper()
	var left, right fieldpath.Set
	if err := left.FromJSON(strings.NewReader(string(a))); err != nil {
		t.Fatal(err)
	}
	if err := right.FromJSON(strings.NewReader(string(b))); err != nil {
		t.Fatal(err)
	}
	text, err := left.Union(&right).ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// handoffDisabled takes the namespace out.
func handoffDisabled() step {
	return did(func(n *namespace) { n.kubectl("annotate", "namespace", n.name, "ownership-handoff.io/mode-") })
}

// TestLastAppliedIsCorrectedForAllWriters verifies that replicas can be removed from the manifest after handoff is uninstalled.
func TestLastAppliedIsCorrectedForAllWriters(t *testing.T) {
	t.Parallel()
	manifest := deployment("3", "app:1")
	all := map[string]scenario{}
	for sentence, created := range map[string][]step{
		"kubectl create --save-config": {did(func(n *namespace) { n.must(n.run(manifest, "create", "--save-config", "-f", "-")) })},
		"kubectl replace --save-config": {applies(manifest), did(func(n *namespace) {
			n.eventually("kubectl replace does not conflict", func() bool {
				return n.run(manifest, "replace", "--save-config", "-f", "-").err == nil
			})
		})},
		"managedFields have been reset": {applies(manifest), runs("patch", "deployment", "web", "--type=json", "-p",
			`[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`)},
	} {
		all[sentence] = scenario{steps: append(created,
			autoscales("7"), applies(manifest).replicas(7).omits("replicas").twice(),
			handoffDisabled(), applies(deployment("", "app:1")).replicas(7),
		)}
	}
	play(t, all)
}

func TestACompletelyKeptBlockCanBeRemovedWithoutHandoff(t *testing.T) {
	t.Parallel()
	manifest := ruled(".spec.template.spec.containers[*].resources", deployment("3", "app:1"))
	play(t, map[string]scenario{"resources": {steps: []step{
		applies(manifest), resizedBy("vpa"),
		// In the annotation controller-fields only.
		applies(manifest).records("resources").omits("requests").omits(`"resources":`),
		handoffDisabled(), applies(withoutResources(manifest)).value(cpu, "50m"),
	}}})
}
