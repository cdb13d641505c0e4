package e2e_test

import (
	_ "embed"
	"strconv"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed testdata/scalers.yaml
var scalerKinds string

// scaleAs sets the replicas of the object web through /scale, as a scaler's controller does.
func (n *namespace) scaleAs(manager string, replicas int32) {
	n.Helper()
	web := n.object()
	body := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	body.Name, body.Namespace = web.GetName(), n.name
	err := cluster.client.SubResource("scale").Update(n.Context(), web, client.WithSubResourceBody(body), client.FieldOwner(manager))
	if err != nil {
		n.Fatal(err)
	}
}

// updateAs sets the replicas of the object web without /scale, as Flagger and Argo Rollouts do.
func (n *namespace) updateAs(manager string, replicas int32) {
	n.Helper()
	n.kubectl("patch", n.kind, "web", "--field-manager="+manager, "--type=merge", "-p", `{"spec":{"replicas":`+strconv.Itoa(int(replicas))+`}}`)
}

const (
	scaledObject = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\nspec: {scaleTargetRef: {name: web}}\n"
	rollout      = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\n" +
		"spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web, scaleDown: onsuccess}}\n"
	canary = "apiVersion: flagger.app/v1beta1\nkind: Canary\nmetadata: {name: web}\n" +
		"spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
)

// TestScalersOwnWhatTheyReference plays each scaler's writes beside a twin in a namespace without handoff.
func TestScalersOwnWhatTheyReference(t *testing.T) {
	t.Parallel()
	withScalers(t)
	for kind, c := range map[string]struct {
		scaler string
		scale  func(n *namespace, replicas int32)
		counts []int32
	}{
		"ScaledObject": {scaledObject, func(n *namespace, replicas int32) { n.scaleAs("keda-operator", replicas) }, []int32{7, 0, 4}},
		"Rollout":      {rollout, func(n *namespace, replicas int32) { n.updateAs("rollouts-controller", replicas) }, []int32{0}},
		"Canary":       {canary, func(n *namespace, replicas int32) { n.updateAs("flagger", replicas) }, []int32{0, 3}},
	} {
		for side, args := range map[string][]string{"client": nil, "server": serverSide()} {
			t.Run(kind+", "+side+"-side", func(t *testing.T) {
				t.Parallel()
				n, twin := newNamespace(t, "enforce"), newNamespace(t, "")
				for _, each := range []*namespace{n, twin} {
					each.apply(deployment("2", "app:1"), args...)
					each.apply(c.scaler)
				}
				n.known(true)
				for _, count := range c.counts {
					for _, each := range []*namespace{n, twin} {
						c.scale(each, count)
						each.wantReplicas(int64(count))
					}
					r := n.apply(deployment("2", "app:1"), args...)
					n.wantWarnings(r, keptReplicas(int(count), kind+"/web")...)
					n.wantReplicas(int64(count))
					n.wantLastApplied("replicas", false)
					n.settled()
					n.unchangedBy("an unchanged apply", func() { n.apply(deployment("2", "app:1"), args...) })
					twin.apply(deployment("2", "app:1"), args...)
					twin.wantReplicas(2)
				}
				for _, each := range []*namespace{n, twin} {
					c.scale(each, 6)
					each.kubectl("delete", strings.ToLower(kind), "web")
				}
				n.known(false)
				for _, each := range []*namespace{n, twin} {
					each.wantWarnings(each.apply(deployment("2", "app:1"), args...))
					each.wantReplicas(2)
				}
			})
		}
	}
}

// Every user with permission to scale can write as the field manager of KEDA.
func TestTheNameOfAScalerProvesNothing(t *testing.T) {
	t.Parallel()
	withScalers(t)
	n := newNamespace(t, "enforce")
	n.apply(deployment("3", "app:1"))
	n.scaleAs("keda-operator", 1)
	n.wantManagers("keda-operator/Update/scale")
	n.wantWarnings(n.apply(deployment("3", "app:1")))
	n.wantReplicas(3)
}

func TestANodeGroupOfClusterAPIBelongsToTheClusterAutoscaler(t *testing.T) {
	t.Parallel()
	withScalers(t)
	const sizes = "  annotations:\n    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: \"1\"\n" +
		"    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: \"9\"\n"
	machines := func(annotations, replicas string) string {
		return "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: web\n" + annotations +
			"spec:\n  clusterName: c\n" + replicas
	}
	n, twin := newNamespace(t, "enforce"), newNamespace(t, "")
	for _, each := range []*namespace{n, twin} {
		each.kind = "machinedeployment"
		each.apply(machines(sizes, "  replicas: 2\n"))
		each.scaleAs("cluster-autoscaler", 5)
	}
	r := n.apply(machines(sizes, "  replicas: 2\n"))
	n.wantWarnings(r, keptReplicas(5, "cluster-autoscaler")...)
	n.wantReplicas(5)
	twin.apply(machines(sizes, "  replicas: 2\n"))
	twin.wantReplicas(2)

	n.apply(machines("", "  replicas: 2\n"))
	n.wantReplicas(2)
}
