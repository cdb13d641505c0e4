package ownership

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// Scaler is what is known about the scalers that reference an object. The zero Scaler means that none does.
type Scaler struct {
	// Name names the scaler that owns the scale field, as "HorizontalPodAutoscaler/web" or "ScaledObject/web"; empty if there is
	// none.
	Name string
	// Desired is the number of replicas that it wants, 0 if that is not known.
	Desired int64
	// OffAtZero reports whether 0 replicas switch it off, as a HorizontalPodAutoscaler that has not scaled to 0: someone else has
	// set them. Other scalers set 0 themselves.
	OffAtZero bool
	// Readable are the managers of Managers.Autoscalers whose scalers can be read. As none of those references the object, it is
	// no longer theirs.
	Readable []string
}

// Owner returns the name of the scaler that owns the scale field of a live object, "" if none does. If 0 replicas switch the
// scaler off and an applier manages them, the manifest owns them, and can switch it on again. A write of 0 through /scale, as of
// kubectl scale, removes the field from the entries of appliers.
func (s Scaler) Owner(scale fieldpath.Path, live Object, entries []Entry, managers Managers) string {
	if s.OffAtZero && string(live.Value(scale)) == "0" && slices.ContainsFunc(managedfields.For(entries, scale), managers.IsApplier) {
		return ""
	}
	return s.Name
}

// The annotations of the cluster-autoscaler's provider for Cluster API
// (https://cluster-api.sigs.k8s.io/tasks/automated-machine-management/autoscaling).
const (
	nodeGroupMinSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	nodeGroupMaxSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	nodeGroupScaler  = "cluster-autoscaler"
)

// NodeGroupScaler returns "cluster-autoscaler" if the annotations of an object of Cluster API make it a node group that the
// cluster-autoscaler scales, and "" otherwise.
func NodeGroupScaler(kind schema.GroupKind, o Object) string {
	if kind.Group != "cluster.x-k8s.io" || !slices.Contains([]string{"MachineDeployment", "MachineSet", "MachinePool"}, kind.Kind) {
		return ""
	}
	size := func(annotation string) (int, bool) {
		text, _ := o.annotation(annotation).String()
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
