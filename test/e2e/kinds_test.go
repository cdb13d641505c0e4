package e2e_test

import (
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/test/objects"
)

func TestEveryBuiltInKindWithAScaleIsKept(t *testing.T) {
	t.Parallel()
	for kind, apiVersion := range map[string]string{
		"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "ReplicationController": "v1",
	} {
		for side, args := range map[string][]string{"client": nil, "server": {"--server-side", "--force-conflicts"}} {
			t.Run(kind+" by "+side+"-side apply", func(t *testing.T) {
				t.Parallel()
				n := newNamespace(t, "enforce")
				n.kind = strings.ToLower(kind)
				manifest := func(replicas string) string { return workload(apiVersion, kind, replicas, "app:1") }
				n.apply(manifest("3"), args...)
				n.autoscale("7")
				n.apply(manifest("3"), args...)
				n.wantReplicas(7)
				n.wantManagers("kube-controller-manager/Update/scale")
				n.wantLastApplied("replicas", false)
				n.apply(manifest(""), args...)
				n.wantReplicas(7)
			})
		}
	}
}

// deploymentConfigs is the kind of OpenShift, as far as it matters here. Its API server is an aggregated one, so no
// CustomResourceDefinition declares the path of its scale, and replicas that a manifest drops are 0.
const deploymentConfigs = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: deploymentconfigs.apps.openshift.io}
spec:
  group: apps.openshift.io
  scope: Namespaced
  names: {plural: deploymentconfigs, singular: deploymentconfig, kind: DeploymentConfig, listKind: DeploymentConfigList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        properties:
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties: {replicas: {type: integer, default: 0}}
`

func TestADeploymentConfigIsKept(t *testing.T) {
	t.Parallel()
	(&namespace{T: t, name: "default"}).apply(deploymentConfigs)
	manifest := func(spec string) string {
		return "apiVersion: apps.openshift.io/v1\nkind: DeploymentConfig\nmetadata: {name: web}\nspec: {" + spec + "}\n"
	}
	for side, args := range map[string][]string{"client": nil, "server": {"--server-side", "--force-conflicts"}} {
		t.Run("by "+side+"-side apply", func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.kind = "deploymentconfig"
			n.eventually("the API server serves the kind", func() bool {
				return n.run(manifest("replicas: 3, paused: true"), append([]string{"apply", "-f", "-"}, args...)...).err == nil
			})
			n.kubectl("apply", "-f", n.file("hpa.yaml", `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps.openshift.io/v1, kind: DeploymentConfig, name: web}
  maxReplicas: 20
`))
			n.kubectl("patch", n.kind, "web", "--type=merge", "-p", `{"spec":{"replicas":7}}`) // instead of the HPA controller
			n.known(true)
			r := n.apply(manifest("replicas: 3, paused: true"), args...)
			n.wantWarnings(r, keptReplicas(7, "HorizontalPodAutoscaler/web")...)
			n.wantReplicas(7)
			n.wantLastApplied("replicas", false)
			n.apply(manifest("paused: true"), args...)
			n.wantReplicas(7)
		})
	}
}

// gadgets are the two versions of a CRD with a nested scale field without a default.
const (
	gadgets = `
  - {name: v1, served: true, storage: true, ` + gadgetVersion + `}
  - {name: v1beta1, served: true, storage: false, ` + gadgetVersion + `}
`
	gadgetVersion = `
    subresources: {status: {}, scale: {specReplicasPath: .spec.pool.size, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}},
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`
)

func gadget(spec string) string {
	return "apiVersion: e2e.example.com/v1\nkind: Gadget\nmetadata: {name: web}\nspec: " + spec + "\n"
}

// withGadgets installs the CRD.
func withGadgets(t *testing.T) {
	t.Helper()
	cluster.gadgets.Do(func() {
		n := &namespace{T: t, name: "default"}
		n.apply(objects.Gadgets("e2e.example.com", gadgets))
		n.kubectl("wait", "--for=condition=Established", "crd/gadgets.e2e.example.com", "--timeout=60s")
	})
}

func TestACustomResourceIsKeptAtThePathOfItsScale(t *testing.T) {
	t.Parallel()
	withGadgets(t)
	for side, args := range map[string][]string{"client": nil, "server": {"--server-side", "--force-conflicts"}} {
		t.Run("by "+side+"-side apply", func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.kind = "gadget"
			n.apply(gadget("{pool: {size: 3, zone: a}}"), args...)
			n.kubectl("patch", "gadget", "web", "--subresource=status", "--type=merge", "-p", `{"status":{"selector":"app=web"}}`)
			n.kubectl("apply", "-f", n.file("hpa.yaml", `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web-pool}
spec:
  scaleTargetRef: {apiVersion: e2e.example.com/v1beta1, kind: Gadget, name: web}
  minReplicas: 7
  maxReplicas: 20
`))
			size := func() string { return n.kubectl("get", "gadget", "web", "-o", "jsonpath={.spec.pool.size}").stdout }
			n.eventually("the HPA controller scales to 7", func() bool { return size() == "7" })

			r := n.apply(gadget("{pool: {size: 3, zone: a}}"), args...)
			n.wantWarnings(r, "kept .spec.pool.size=7, owned by HorizontalPodAutoscaler/web-pool; remove it from the manifest", handBack)
			if got := size(); got != "7" {
				t.Errorf("a set size: got %s, want 7", got)
			}
			n.apply(gadget("{pool: {zone: b}}"), args...)
			if got := size(); got != "7" {
				t.Errorf("a size removed from the manifest: got %s, want 7", got)
			}
			n.wantLastApplied("size", false)
			n.apply(gadget("{other: 1}"), args...)
			if got := size(); got != "7" {
				t.Errorf("a size removed from the manifest with its parent: got %s, want 7", got)
			}
			n.unchangedBy("a second unchanged apply", func() { n.apply(gadget("{other: 1}"), args...) })
		})
	}
}
