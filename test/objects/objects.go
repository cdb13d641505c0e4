// Package objects contains the objects that several test suites create: namespaces, custom resource definitions, autoscalers and
// the guard.
package objects

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/optin"
)

// NewNamespace creates a namespace with a unique name, which starts with prefix, and deletes it when the test ends. The namespace
// has the mode annotation unless mode is empty.
func NewNamespace(t *testing.T, api client.Client, prefix, mode string) (name string) {
	t.Helper()
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	if mode != "" {
		o.Annotations = map[string]string{optin.Annotation: mode}
	}
	if err := api.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Delete(context.Background(), o) })
	return o.Name
}

// Write writes a file of a test, with the folders that it is in, and returns its path.
func Write(t *testing.T, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Chart writes a Helm chart of one template, whose value image is app:1. It returns its folder, and Helm's environment.
func Chart(t *testing.T, template string) (folder string, environment []string) {
	t.Helper()
	folder = t.TempDir()
	Write(t, "apiVersion: v2\nname: web\nversion: 0.1.0\n", folder, "Chart.yaml")
	Write(t, "image: app:1\n", folder, "values.yaml")
	Write(t, template, folder, "templates", "web.yaml")
	return folder, []string{"HELM_CONFIG_HOME=" + folder, "HELM_CACHE_HOME=" + folder, "HELM_DATA_HOME=" + folder}
}

// probed is a number of replicas that no test stores.
const probed = 19

// KeepsReplicas reports whether admission keeps .spec.replicas of a live object: it applies the object with other replicas, as a
// dry run of a server-side apply. The object must contain other fields as well, because an apply of replicas alone is not that of
// a manifest.
func KeepsReplicas(t *testing.T, api client.Client, object *unstructured.Unstructured) bool {
	t.Helper()
	tried := object.DeepCopy()
	if err := unstructured.SetNestedField(tried.Object, int64(probed), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	//nolint:staticcheck // the object is unstructured
	err := api.Patch(t.Context(), tried, client.Apply, client.FieldOwner("probe"), client.ForceOwnership, client.DryRunAll)
	if err != nil {
		t.Fatal(err)
	}
	replicas, _, err := unstructured.NestedInt64(tried.Object, "spec", "replicas")
	if err != nil {
		t.Fatal(err)
	}
	return replicas != probed
}

// CRD returns the CustomResourceDefinition of a kind, such as Gadget, in a group. The versions are a YAML list at indentation 2.
func CRD(group, kind, versions string) string {
	return strings.NewReplacer("GROUP", group, "Kind_", kind, "kind_", strings.ToLower(kind)).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kind_s.GROUP, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: kind_s, singular: kind_, kind: Kind_, listKind: Kind_List}
  versions:
`) + versions
}

// VirtualServices returns the CRD of Istio's VirtualService, as far as it matters here: without a list type, lists are atomic.
func VirtualServices() string {
	const schema = `schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {
      http: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}},
      tcp: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}}
`
	return CRD("networking.istio.io", "VirtualService", "  - {name: v1, served: true, storage: true, "+schema+"  - {name: v1alpha3, served: true, storage: false, "+schema)
}

// KEDAAutoscaler is an HPA of Deployment/web with the name and labels that KEDA gives it, and a minimum of 7 replicas.
const KEDAAutoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: keda-hpa-web, labels: {app.kubernetes.io/managed-by: keda-operator, scaledobject.keda.sh/name: web}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 7
  maxReplicas: 20
`

// GuardFolder returns the folder of the guard's manifests for the version of admissionregistration.k8s.io, as v1, in which an API
// server serves MutatingAdmissionPolicy.
func GuardFolder(version string) string {
	if version == "v1" {
		return filepath.Join("manifests", "guard")
	}
	return filepath.Join("manifests", "guard-"+version)
}

// DormantGuard is a kustomize patch of manifests/guard: the guard applies only to namespaces with the label e2e-guard, because
// most tests are about the webhook alone.
const DormantGuard = `
patches:
- target: {kind: MutatingAdmissionPolicyBinding}
  patch: |-
    - op: add
      path: /spec/matchResources
      value: {namespaceSelector: {matchExpressions: [{key: e2e-guard, operator: Exists}]}}
`
