package e2e_test

import (
	"strings"
	"testing"
)

func TestEveryBuiltInKindWithAScaleIsKept(t *testing.T) {
	t.Parallel()
	all := map[string]scenario{}
	for kind, apiVersion := range map[string]string{
		"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "ReplicationController": "v1",
	} {
		manifest := func(replicas string) string { return workload(apiVersion, kind, replicas, "app:1") }
		all[kind] = scenario{kind: strings.ToLower(kind), steps: []step{
			applies(manifest("3")), autoscales("7"),
			applies(manifest("3")).replicas(7).managers(byAutoscaler).omits("replicas"),
			applies(manifest("")).replicas(7),
		}}
	}
	playBy(t, bothSides(), all)
}

func TestADeploymentConfigIsKept(t *testing.T) {
	t.Parallel()
	withDeploymentConfigs(t)
	manifest := func(spec string) string {
		return "apiVersion: apps.openshift.io/v1\nkind: DeploymentConfig\nmetadata: {name: web}\nspec: {" + spec + "}\n"
	}
	playBy(t, bothSides(), map[string]scenario{"a DeploymentConfig": {kind: "deploymentconfig", steps: []step{
		applies(manifest("replicas: 3, paused: true")),
		did(func(n *namespace) {
			n.must(n.run(idle("apps.openshift.io/v1", "DeploymentConfig"), "create", "-f", "-"))
		}),
		patchedBy("kube-controller-manager", `{"spec":{"replicas":7}}`), // instead of the HPA controller
		did(func(n *namespace) { n.known(true) }),
		applies(manifest("replicas: 3, paused: true")).warns(keptReplicas(7, hpa)...).replicas(7).omits("replicas"),
		applies(manifest("paused: true")).replicas(7),
	}}})
}

func gadget(spec string) string {
	return "apiVersion: e2e.example.com/v1\nkind: Gadget\nmetadata: {name: web}\nspec: " + spec + "\n"
}

func TestACustomResourceIsKeptAtThePathOfItsScale(t *testing.T) {
	t.Parallel()
	withGadgets(t)
	const size = ".spec.pool.size"
	zoned := applies(gadget("{pool: {size: 3, zone: a}}"))
	playBy(t, bothSides(), map[string]scenario{"a Gadget": {kind: "gadget", steps: []step{
		zoned,
		runs("patch", "gadget", "web", "--subresource=status", "--type=merge", "-p", `{"status":{"selector":"app=web"}}`),
		did(func(n *namespace) {
			n.apply(strings.NewReplacer("minReplicas: 1", "minReplicas: 7").Replace(idle("e2e.example.com/v1beta1", "Gadget")))
			n.eventually("the HPA controller scales to 7", func() bool { return n.jsonpath(size) == "7" })
		}),
		zoned.value(size, "7").warns("kept .spec.pool.size=7, owned by "+hpa+"; remove it from the manifest", handBack),
		applies(gadget("{pool: {zone: b}}")).value(size, "7").omits("size"),
		patchedBy("kubectl-patch", `{"spec":{"pool":{"zone":"c"}}}`),
		applies(gadget("{other: 1}")).value(".spec.pool", `{"size":7,"zone":"c"}`).twice(), // removed with its parent, which comes back as it was
	}}})
}
