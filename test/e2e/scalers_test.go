package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// scaleAs sets the replicas of the object web through /scale, as a scaler's controller does.
func (n *namespace) scaleAs(manager string, replicas int32) {
	n.Helper()
	web := n.object()
	body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	body.Name, body.Namespace = web.GetName(), n.name
	err := cluster.client.SubResource("scale").Update(n.Context(), web, client.WithSubResourceBody(body), client.FieldOwner(manager))
	expect.NoError(n, err)
}

const (
	scaledObject = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\nspec: {scaleTargetRef: {name: web}}\n"
	rollout      = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\n" +
		"spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web, scaleDown: onsuccess}}\n"
	canary = "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: web}\n" +
		"spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
)

func TestScalersOwnWhatTheyReference(t *testing.T) {
	t.Parallel()
	withScalers(t)
	all := map[string]scenario{}
	for kind, c := range map[string]struct {
		scaler  string
		manager string // scales through /scale; the others patch the Deployment
		counts  []int
	}{
		"ScaledObject": {scaledObject, "keda-operator", []int{7, 0, 4}},
		"Rollout":      {rollout, "rollouts-controller", []int{0}},
		"Canary":       {canary, "flagger", []int{0, 3}},
	} {
		scales := func(replicas int) step {
			if kind == "ScaledObject" {
				return scaledBy(c.manager, int32(replicas))
			}
			return patchedBy(c.manager, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
		}
		manifest := applies(deployment("2", "app:1"))
		steps := []step{manifest, writes(c.scaler, "create"), knows(true)}
		for _, count := range c.counts {
			steps = append(steps, scales(count), manifest.warns(keptReplicas(count, kind+"/web")...).replicas(int64(count)).omits("replicas").twice())
		}
		all[kind] = scenario{steps: append(steps, scales(6), runs("delete", strings.ToLower(kind), "web"), knows(false), manifest.warns().replicas(2))}
	}
	// Every user with permission to scale can write as the field manager of KEDA.
	all["the name of a scaler proves nothing"] = scenario{steps: []step{
		applies(deployment("3", "app:1")), scaledBy("keda-operator", 1).managers("keda-operator/Update/scale"),
		applies(deployment("3", "app:1")).warns().replicas(3),
	}}
	const sizes = "  annotations:\n    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: \"1\"\n" +
		"    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: \"9\"\n"
	machines := func(annotations string) step {
		return applies("apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: web\n" + annotations +
			"spec:\n  clusterName: c\n  replicas: 2\n")
	}
	all["a node group of Cluster API"] = scenario{kind: "machinedeployment", steps: []step{
		machines(sizes), scaledBy("cluster-autoscaler", 5), machines(sizes).warns(keptReplicas(5, "cluster-autoscaler")...).replicas(5),
		machines("").replicas(2),
	}}
	playBy(t, bothSides(), all)
}
