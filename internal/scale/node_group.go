package scale

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// The annotations of the cluster-autoscaler's provider for Cluster API
// (https://cluster-api.sigs.k8s.io/tasks/automated-machine-management/autoscaling).
const (
	nodeGroupMinSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	nodeGroupMaxSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	nodeGroupScaler  = "cluster-autoscaler"
)

// IsNodeGroupSize reports whether an annotation, given by name, decides whether an object is a node group.
func IsNodeGroupSize(name *string) bool {
	return name != nil && (*name == nodeGroupMinSize || *name == nodeGroupMaxSize)
}

// NodeGroupScaler returns "cluster-autoscaler" if the annotations of an object of Cluster API make it a node group that the
// cluster-autoscaler scales, and "" otherwise.
func NodeGroupScaler(kind schema.GroupKind, object *jsontree.Node) string {
	if kind.Group != "cluster.x-k8s.io" || !slices.Contains([]string{"MachineDeployment", "MachineSet", "MachinePool"}, kind.Kind) {
		return ""
	}
	size := func(annotation string) (int, bool) {
		text, _ := object.At("metadata", "annotations", annotation).String()
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= 0
	}
	minimum, hasMin := size(nodeGroupMinSize)
	maximum, hasMax := size(nodeGroupMaxSize)
	if !hasMin || !hasMax || maximum < minimum || maximum == 0 {
		return "" // as in newNodeGroupFromScalableResource of the cluster-autoscaler
	}
	return nodeGroupScaler
}
