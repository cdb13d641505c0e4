package manifests_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ownership-handoff/handoff/ownership"
)

// TestHandoffDoesNotInterceptItsOwnNamespace verifies this also for another namespace that is set with kustomize.
func TestHandoffDoesNotInterceptItsOwnNamespace(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"overlays/default", "overlays/self-signed", "overlays/cert-manager"} {
		for _, name := range []string{system, "platform"} {
			dir := t.TempDir()
			path, err := filepath.Rel(dir, filepath.Join(cluster.root, "manifests", folder))
			if err != nil {
				t.Fatal(err)
			}
			guard := filepath.Join(path, "..", "..", "guard")
			text := "namespace: " + name + "\nresources: [" + path + ", " + guard + "]\n"
			if folder != "overlays/default" { // which contains it
				text += "components: [" + filepath.Join(path, "..", "..", "components", "namespace") + "]\n"
			}
			if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var namespace corev1.Namespace
			var selectors []*metav1.LabelSelector
			for _, o := range decode(t, kubectl(t, "", "kustomize", dir).stdout) {
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
						has[ownership.ModeLabel] = mode
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
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestObjectsThatOptInAreSelectedLikeOthers verifies that the second webhook has the rules and conditions of the first, that each
// namespace is selected by one of them, and which objects are.
func TestObjectsThatOptInAreSelectedLikeOthers(t *testing.T) {
	t.Parallel()
	const extra = `webhook.matchConditions=[{"name":"mine","expression":"true"}]`
	for sentence, all := range map[string]objects{"base": kustomize(t, "base"), "the chart": chart(t, extra)} {
		var configuration admissionregistrationv1.MutatingWebhookConfiguration
		convert(t, all["MutatingWebhookConfiguration/handoff"].Object, &configuration)
		byNamespace, byObject, outside := configuration.Webhooks[0], configuration.Webhooks[1], configuration.Webhooks[3]
		if diff := cmp.Diff(byObject.MatchConditions, outside.MatchConditions); diff != "" {
			t.Errorf("%s: match conditions of objects outside namespaces (-want +got):\n%s", sentence, diff)
		}
		if diff := cmp.Diff(byObject.ObjectSelector, outside.ObjectSelector); diff != "" {
			t.Errorf("%s: selector of objects outside namespaces (-want +got):\n%s", sentence, diff)
		}
		if diff := cmp.Diff(byNamespace.MatchConditions, byObject.MatchConditions); diff != "" || len(byObject.MatchConditions) < 4 {
			t.Errorf("%s: match conditions (-want +got):\n%s", sentence, diff)
		}
		if diff := cmp.Diff(byNamespace.Rules, byObject.Rules); diff != "" {
			t.Errorf("%s: rules (-want +got):\n%s", sentence, diff)
		}
		for _, has := range []labels.Set{{"kubernetes.io/metadata.name": "a"}, {"kubernetes.io/metadata.name": "a", ownership.ModeLabel: ""}} {
			if matches(t, byNamespace.NamespaceSelector, has) == matches(t, byObject.NamespaceSelector, has) {
				t.Errorf("%s: a namespace with labels %s is selected by both webhooks or none", sentence, has)
			}
		}
		for value, want := range map[string]struct{ byNamespace, byObject bool }{
			"none": {true, false}, "off": {}, "enforce": {true, true}, "warn": {true, true}, "": {true, true}, "Off": {true, true},
		} {
			has := labels.Set{"app": "web"}
			if value != "none" {
				has[ownership.ModeLabel] = value
			}
			if matches(t, byNamespace.ObjectSelector, has) != want.byNamespace || matches(t, byObject.ObjectSelector, has) != want.byObject {
				t.Errorf("%s: objects with labels %s: want %v", sentence, has, want)
			}
		}
	}
}

func matches(t *testing.T, s *metav1.LabelSelector, has labels.Set) bool {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
