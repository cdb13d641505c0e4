package manifests_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
)

// objects are the objects of manifests, by KIND/NAME.
type objects map[string]*unstructured.Unstructured

func decode(t *testing.T, text string) objects {
	t.Helper()
	found := objects{}
	for documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var content map[string]any
		if err := documents.Decode(&content); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if content == nil {
			continue // an empty template
		}
		o := &unstructured.Unstructured{Object: content}
		key := o.GetKind() + "/" + o.GetName()
		if found[key] != nil {
			t.Fatalf("duplicate object %s", key)
		}
		found[key] = o
	}
}

// text returns the objects as a List for kubectl.
func (o objects) text(t *testing.T) string {
	t.Helper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
	for _, object := range o {
		list.Items = append(list.Items, *object)
	}
	text, err := list.MarshalJSON()
	expect.NoError(t, err)
	return string(text)
}

// without returns the objects for which unwanted returns false.
func (o objects) without(unwanted func(*unstructured.Unstructured) bool) objects {
	rest := objects{}
	for key, object := range o {
		if !unwanted(object) {
			rest[key] = object
		}
	}
	return rest
}

// kustomize builds directories of manifests as one kustomization, with components/ as its components.
func kustomize(t *testing.T, folders ...string) objects {
	t.Helper()
	lists := map[string][]string{}
	for _, folder := range folders {
		list := "resources"
		if strings.HasPrefix(folder, "components/") {
			list = "components"
		}
		lists[list] = append(lists[list], "MANIFESTS/"+folder)
	}
	return kustomization(t, string(jsontest.Encode(t, lists)))
}

// kustomization builds a kustomization, in which MANIFESTS is the folder of the manifests.
func kustomization(t *testing.T, text string) objects {
	t.Helper()
	dir := t.TempDir()
	manifests, err := filepath.Rel(dir, filepath.Join(cluster.root, "manifests"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.ReplaceAll(text, "MANIFESTS", manifests)), 0o600)
	}
	expect.NoError(t, err)
	return decode(t, kubectl(t, "", "kustomize", dir).Stdout)
}

// kubernetes returns the version for which the chart is rendered, that of the control plane: helm template has no cluster.
func kubernetes() string { return cluster.controlPlane.Version() }

// guardFolder is the folder of the guard that the chart renders for the version of the control plane.
func guardFolder() string {
	if cluster.controlPlane.Since(36) {
		return "guard"
	}
	return "guard-v1beta1"
}

func template(t *testing.T, values ...string) result {
	t.Helper()
	set := make([]string, 0, 2*len(values))
	for _, value := range values {
		set = append(set, "--set-json", value)
	}
	folder := filepath.Join(cluster.root, "manifests", "chart")
	from := []string{"template", "handoff", folder, "--namespace", system, "--kube-version", kubernetes(), "--skip-tests"}
	return helm(t, slices.Concat(from, set)...)
}

// chart renders the chart, which must succeed. The values are PATH=JSON.
func chart(t *testing.T, values ...string) objects {
	t.Helper()
	r := template(t, values...)
	expect.NoError(t, r.Err)
	return decode(t, r.Stdout)
}

// TestAnotherNamespaceStaysAsItIs verifies that an installation into an existing namespace neither changes nor deletes it.
func TestAnotherNamespaceStaysAsItIs(t *testing.T) {
	t.Parallel()
	all := kustomization(t, "namespace: platform\nresources: [MANIFESTS/overlays/self-signed, MANIFESTS/policies]\ncomponents: [MANIFESTS/components/monitoring]\n")
	for name, o := range all {
		if o.GetKind() == "Namespace" {
			t.Errorf("it contains %s", name)
		}
		if namespace := o.GetNamespace(); namespace != "" && namespace != "platform" {
			t.Errorf("%s is in namespace %s", name, namespace)
		}
	}
	if text := string(jsontest.Encode(t, all["PrometheusRule/handoff-webhook"])); strings.Contains(text, system) {
		t.Errorf("the alerts name the namespace %s: %s", system, text)
	}
	// Kubernetes supports up to 150000 pods in a cluster.
	pods, _, _ := unstructured.NestedString(all["ResourceQuota/handoff-webhook"].Object, "spec", "hard", "pods")
	if limit, err := resource.ParseQuantity(pods); err != nil || limit.Value() <= 150000 {
		t.Errorf("the ResourceQuota limits the pods of others in the namespace: got %q, %v", pods, err)
	}
}

// TestRolesNameTheObjectsOfAnInstallationWithAPrefix verifies that kustomize renames objects in the roles, too.
func TestRolesNameTheObjectsOfAnInstallationWithAPrefix(t *testing.T) {
	t.Parallel()
	all := kustomization(t, "namePrefix: acme-\nresources: [MANIFESTS/overlays/self-signed]\n")
	kinds := map[string]string{
		"mutatingwebhookconfigurations": "MutatingWebhookConfiguration", "services": "Service", "configmaps": "ConfigMap",
	}
	found := 0
	for key, o := range all {
		var role rbacv1.ClusterRole // with rules of the same form as a Role
		if !strings.HasSuffix(o.GetKind(), "Role") {
			continue
		}
		convert(t, o.Object, &role)
		for _, rule := range role.Rules {
			for _, name := range rule.ResourceNames {
				isAnother := func(o *unstructured.Unstructured) bool {
					return o.GetKind() != kinds[rule.Resources[0]] || o.GetName() != name
				}
				if kinds[rule.Resources[0]] == "" {
					continue
				}
				found++
				if len(all.without(isAnother)) == 0 {
					t.Errorf("%s: there is no %s %s", key, rule.Resources[0], name)
				}
			}
		}
	}
	expect.Equal(t, "names", 4, found)
}
