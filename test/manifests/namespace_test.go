package manifests_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

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
						selectors = append(selectors, webhook.Webhooks[i].NamespaceSelector)
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
				selector, err := metav1.LabelSelectorAsSelector(s)
				if err != nil {
					t.Fatal(err)
				}
				matches := func(has labels.Set, mode string) bool {
					has = maps.Clone(has)
					if mode != "" {
						has[ownership.ModeLabel] = mode
					}
					return selector.Matches(has)
				}
				if matches(namespace.Labels, "") || matches(namespace.Labels, "enforce") {
					t.Errorf("%s in %s: its own namespace is intercepted", folder, name)
				}
				other := labels.Set{"kubernetes.io/metadata.name": "shop"}
				if !matches(other, "") && !matches(other, "enforce") {
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
