package e2e_test

import (
	"strings"
	"testing"
)

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
			`{"metadata":{"labels":{"try":"again"}}}`).Stdout
		return out == "2"
	})
	n.apply(deployment("", "app:2"))
	n.wantReplicas(2)
}
