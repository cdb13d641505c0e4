package e2e_test

import (
	"testing"
)

// guard keeps replicas in process, before any webhook is called: to the webhook the value is already as it is in live,
// and only the claims are wrong.
const guard = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: e2e-guard}
spec:
  failurePolicy: Ignore
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}
  matchConditions:
  - {name: guarded, expression: "'e2e-guard' in object.metadata.?labels.orValue({})"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: "Object{spec: Object.spec{replicas: oldObject.spec.replicas}}"
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: e2e-guard}
spec: {policyName: e2e-guard}
`

func TestBehindAPolicyThatKeepsTheValueTheClaimsArePutRight(t *testing.T) {
	t.Parallel()
	everywhere := &namespace{T: t, name: "default"}
	everywhere.apply(guard)
	for side, args := range map[string][]string{"client": nil, "server": {"--server-side", "--force-conflicts"}} {
		t.Run(side+"-side apply", func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply(deployment("3", "app:1"), args...)
			n.autoscale("7")
			n.kubectl("label", "deployment", "web", "e2e-guard=")
			n.eventually("the policy is in effect", func() bool {
				guarded := n.kubectl("patch", "deployment", "web", "--dry-run=server", "-p", `{"spec":{"replicas":9}}`, "-o", "jsonpath={.spec.replicas}")
				return guarded.stdout == "7"
			})
			n.apply(deployment("3", "app:1"), args...)
			n.wantReplicas(7)
			n.wantHolders("kube-controller-manager/Update/scale")
			n.wantLastApplied("replicas", false)
			n.unchangedBy("a second unchanged apply", func() { n.apply(deployment("3", "app:1"), args...) })
			n.apply(deployment("", "app:2"), args...)
			n.wantReplicas(7)
			n.wantHolders("kube-controller-manager/Update/scale")
		})
	}
}
