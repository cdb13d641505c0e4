package manifests_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// The values for managed clusters that the components correspond to.
const (
	explicitRules = `webhook.rules=[{"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments","statefulsets","replicasets"]},
		{"apiGroups":[""],"apiVersions":["v1"],"resources":["replicationcontrollers"]}]`
	withoutUser = `podSecurityContext={"runAsUser":null,"runAsGroup":null,"fsGroup":null}`
)

// refusesSystemResources is a policy as that of GKE Autopilot, which refuses webhooks for some resources, even by a wildcard
// (https://cloud.google.com/kubernetes-engine/docs/concepts/autopilot-security). It applies to one name only, so that other tests can
// install handoff.
const refusesSystemResources = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-system-resources}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [admissionregistration.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [mutatingwebhookconfigurations]}
  matchConditions:
  - {name: managed, expression: "object.metadata.name == 'handoff-managed'"}
  validations:
  - expression: >-
      object.webhooks.all(w, w.rules.all(r, !r.apiGroups.exists(g, r.resources.exists(x,
      [['', 'nodes'], ['', 'persistentvolumes'], ['certificates.k8s.io', 'certificatesigningrequests'],
      ['authentication.k8s.io', 'tokenreviews']].exists(system, g in ['*', system[0]] &&
      (x in ['*', '*/*', system[1]] || x.startsWith(system[1] + '/')))))))
    message: webhooks must not intercept nodes
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-system-resources}
spec: {policyName: no-system-resources, validationActions: [Deny]}
`

func TestExplicitRulesAreAcceptedWhereWildcardsAreRefused(t *testing.T) {
	t.Parallel()
	kubectl(t, refusesSystemResources, "apply", "-f", "-")
	create := func(all objects) result {
		hook := all["MutatingWebhookConfiguration/handoff"].DeepCopy()
		hook.SetName("handoff-managed")
		return run(t, objects{"hook": hook}.text(t), "create", "--dry-run=server", "-f", "-")
	}
	eventually(t, "the policy refuses the default rules", func() bool {
		r := create(kustomize(t, "overlays/default"))
		return r.Err != nil && strings.Contains(r.Stderr, "webhooks must not intercept nodes")
	})
	for _, all := range []objects{kustomize(t, "overlays/default", "components/explicit-rules"), chart(t, explicitRules)} {
		expect.NoError(t, create(all).Err)
	}
}

// TestPodsInTheNetworkOfTheNodesAreAdmitted verifies that the component lowers the Pod Security Standard of the namespace, which
// refuses the pods otherwise.
func TestPodsInTheNetworkOfTheNodesAreAdmitted(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "overlays/default", "components/host-network")
	for _, c := range []struct {
		namespace string
		of        objects
		admitted  bool
	}{{"managed-restricted", kustomize(t, "overlays/default"), false}, {"managed-privileged", all, true}} {
		namespace := c.of["Namespace/"+system].DeepCopy()
		namespace.SetName(c.namespace)
		kubectl(t, objects{"namespace": namespace}.text(t), "apply", "-f", "-")
		kubectl(t, "", "create", "serviceaccount", "-n", c.namespace, "handoff-webhook")
		spec, _, err := unstructured.NestedMap(all["Deployment/handoff-webhook"].Object, "spec", "template", "spec")
		expect.NoError(t, err)
		delete(spec, "priorityClassName") // its ResourceQuota is not installed here
		pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec}}
		pod.SetName("probe")
		pod.SetNamespace(c.namespace)
		r := run(t, objects{"pod": pod}.text(t), "create", "--dry-run=server", "-f", "-")
		expect.Equal(t, c.namespace+" admits the pod", c.admitted, r.Err == nil)
	}
}

func TestLabelsAndAnnotationsOfTheConfigurationAreRendered(t *testing.T) {
	t.Parallel()
	for _, certificates := range []string{"self-signed", "cert-manager"} {
		hook := chart(t, `certificates="`+certificates+`"`, `webhook.labels={"admissions.enforcer/disabled":"true"}`,
			`webhook.annotations={"example.com/a":"b"}`)["MutatingWebhookConfiguration/handoff"]
		_, injected := hook.GetAnnotations()["cert-manager.io/inject-ca-from"]
		if hook.GetLabels()["admissions.enforcer/disabled"] != "true" || hook.GetLabels()["app.kubernetes.io/name"] != "handoff" ||
			hook.GetAnnotations()["example.com/a"] != "b" || injected != (certificates == "cert-manager") {
			t.Errorf("%s: labels %v, annotations %v", certificates, hook.GetLabels(), hook.GetAnnotations())
		}
	}
}

// uncalled returns a function that applies the configuration of the chart under a name, as Helm 4 does. Its objectSelector selects
// nothing, so the API server never calls it.
func uncalled(t *testing.T, name string) (apply func(flags ...string) result) {
	t.Helper()
	hook := chart(t)["MutatingWebhookConfiguration/handoff"].DeepCopy()
	hook.SetName(name)
	webhooks, _, err := unstructured.NestedSlice(hook.Object, "webhooks")
	expect.NoError(t, err)
	for _, w := range webhooks {
		entry, _ := w.(map[string]any)
		entry["objectSelector"] = map[string]any{"matchLabels": map[string]any{"managed-test": "never"}}
	}
	expect.NoError(t, unstructured.SetNestedSlice(hook.Object, webhooks, "webhooks"))
	text := objects{"hook": hook}.text(t)
	return func(flags ...string) result {
		t.Helper()
		args := append([]string{"apply", "--server-side", "--field-manager=helm", "-f", "-"}, flags...)
		return run(t, text, args...)
	}
}

// TestAnEnforcerConflictsWithServerSideApply verifies what docs/managed.md says about a client that adds requirements to the
// namespaceSelector, as AKS does (https://github.com/Azure/AKS/issues/4002).
func TestAnEnforcerConflictsWithServerSideApply(t *testing.T) {
	t.Parallel()
	const name = "handoff-enforced"
	apply := uncalled(t, name)
	enforce := func() {
		kubectl(t, "", "patch", "--field-manager=admissionsenforcer", "mutatingwebhookconfiguration", name, "--type=json", "-p", `[
			{"op": "add", "path": "/webhooks/0/namespaceSelector/matchExpressions/-",
				"value": {"key": "control-plane", "operator": "NotIn", "values": ["true"]}},
			{"op": "add", "path": "/webhooks/0/namespaceSelector/matchExpressions/-",
				"value": {"key": "kubernetes.azure.com/managedby", "operator": "NotIn", "values": ["aks"]}}]`)
	}
	expect.NoError(t, apply().Err)
	expect.NoError(t, apply().Err) // again
	enforce()
	if r := apply(); r.Err == nil || !strings.Contains(r.Stderr, `conflict with "admissionsenforcer"`) ||
		!strings.Contains(r.Stderr, "namespaceSelector") {
		t.Errorf("want a conflict, got %v: %s", r.Err, r.Stderr)
	}
	expect.NoError(t, apply("--force-conflicts").Err)
}
