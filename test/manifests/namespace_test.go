package manifests_test

import (
	"maps"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
)

// TestHandoffDoesNotInterceptItsOwnNamespace verifies this also for another namespace that is set with kustomize.
func TestHandoffDoesNotInterceptItsOwnNamespace(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"overlays/default", "overlays/self-signed", "overlays/cert-manager"} {
		for _, name := range []string{system, "platform"} {
			text := "namespace: " + name + "\nresources: [MANIFESTS/" + folder + ", MANIFESTS/guard]\n"
			if folder != "overlays/default" { // which contains it
				text += "components: [MANIFESTS/components/namespace]\n"
			}
			var namespace corev1.Namespace
			var selectors []*metav1.LabelSelector
			for _, o := range kustomization(t, text) {
				var webhook admissionregistrationv1.MutatingWebhookConfiguration
				var policy admissionregistrationv1.ValidatingAdmissionPolicy // a MutatingAdmissionPolicy has the same match constraints
				switch o.GetKind() {
				case "Namespace":
					convert(t, o.Object, &namespace)
				case "MutatingWebhookConfiguration":
					convert(t, o.Object, &webhook)
					for i := range webhook.Webhooks {
						if webhook.Webhooks[i].Name != "cluster.ownership-handoff.io" { // it is about objects outside namespaces
							selectors = append(selectors, webhook.Webhooks[i].NamespaceSelector)
						}
					}
				case "MutatingAdmissionPolicy":
					delete(o.Object["spec"].(map[string]any), "mutations") //nolint:forcetypeassert // the API server accepts it
					convert(t, o.Object, &policy)
					selectors = append(selectors, policy.Spec.MatchConstraints.NamespaceSelector)
				}
			}
			if namespace.Name != name || len(selectors) != 5 {
				t.Fatalf("%s: the namespace %s, and %d selectors", folder, namespace.Name, len(selectors))
			}
			namespace.Labels["kubernetes.io/metadata.name"] = namespace.Name // the API server sets this label
			for _, s := range selectors {
				selects := func(has labels.Set, mode string) bool {
					has = maps.Clone(has)
					if mode != "" {
						has[optin.Label] = mode
					}
					return matches(t, s, has)
				}
				if selects(namespace.Labels, "") || selects(namespace.Labels, "enforce") {
					t.Errorf("%s in %s: its own namespace is intercepted", folder, name)
				}
				other := labels.Set{"kubernetes.io/metadata.name": "shop"}
				if !selects(other, "") && !selects(other, "enforce") {
					t.Errorf("%s in %s: no other namespace is intercepted", folder, name)
				}
			}
		}
	}
}

func convert(t *testing.T, from map[string]any, to any) {
	t.Helper()
	expect.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(from, to))
}

func matches(t *testing.T, s *metav1.LabelSelector, has labels.Set) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	expect.NoError(t, err)
	return selector.Matches(has)
}

func TestOnlyWebhooksForObjectsInNamespacesCanRefuse(t *testing.T) {
	t.Parallel()
	var configuration admissionregistrationv1.MutatingWebhookConfiguration
	convert(t, chart(t, `webhook.failurePolicy="Fail"`)["MutatingWebhookConfiguration/handoff"].Object, &configuration)
	got := map[string]admissionregistrationv1.FailurePolicyType{}
	for _, w := range configuration.Webhooks {
		got[w.Name] = *w.FailurePolicy
	}
	want := map[string]admissionregistrationv1.FailurePolicyType{
		"webhook.ownership-handoff.io": "Fail", "objects.ownership-handoff.io": "Fail", "namespaces.ownership-handoff.io": "Ignore",
		"cluster.ownership-handoff.io": "Ignore",
	}
	expect.Equal(t, "failure policies", want, got)
}
