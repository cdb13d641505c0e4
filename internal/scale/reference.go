package scale

import (
	"cmp"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const hpaKind = "HorizontalPodAutoscaler"

// Reference is what a scaler says about the object that it references.
type Reference struct {
	// Scaler names it, as "ScaledObject/web".
	Scaler string
	// Target and TargetName identify the referenced object, in the scaler's namespace.
	Target     schema.GroupKind
	TargetName string
	// Rank is the position of its kind among those of the configuration. HorizontalPodAutoscalers come last.
	Rank int
	// Desired is the number of replicas that it wants, 0 if it does not say.
	Desired int64
	// OffAtZero reports whether 0 replicas switch it off. Others set 0 themselves.
	OffAtZero bool
	// ControlledBy names the scaler that created it, as "ScaledObject/web" for KEDA's HorizontalPodAutoscalers.
	ControlledBy string

	shares bool
}

// lastRank is that of HorizontalPodAutoscalers.
const lastRank = 1 << 16

// ReferenceOf returns the reference of a scaler, which is the rank-th kind of the configuration. The results ok and err are
// those of Kind.Target.
func (k Kind) ReferenceOf(object map[string]any, name string, rank int) (r Reference, ok bool, err error) {
	r = Reference{Scaler: k.GroupKind.Kind + "/" + name, Rank: rank, shares: k.shares}
	r.Target, r.TargetName, ok, err = k.Target(object)
	return r, ok, err
}

// OfHPA returns the reference of a HorizontalPodAutoscaler; ok is false if it targets nothing: it has no valid reference, or it is
// being deleted, which is not an error.
func OfHPA(hpa *autoscalingv2.HorizontalPodAutoscaler) (r Reference, ok bool, err error) {
	r = Reference{Scaler: hpaKind + "/" + hpa.Name, Rank: lastRank, Desired: desiredBy(hpa)}
	r.OffAtZero = offAtZero(hpa)
	if controller := metav1.GetControllerOfNoCopy(hpa); controller != nil && max(len(controller.Kind), len(controller.Name)) <= maxText {
		r.ControlledBy = controller.Kind + "/" + controller.Name
	}
	target := hpa.Spec.ScaleTargetRef
	if hpa.DeletionTimestamp != nil {
		return r, false, nil
	}
	if r.Target, err = groupKind(target.APIVersion, target.Kind, target.Name); err != nil {
		return r, false, err
	}
	r.TargetName = target.Name
	return r, true, nil
}

// Choose returns the reference that names the owner, among those of one object: the first by the configuration's order, then
// by name. KEDA's ScaledObject therefore precedes the HorizontalPodAutoscaler that it creates. The result's Desired is the
// highest, and 0 replicas switch the owner off only if they switch off all. ok is false if there is none.
func Choose(references []Reference) (first Reference, ok bool) {
	if len(references) == 0 {
		return Reference{}, false
	}
	first = slices.MinFunc(references, inOrder)
	for i := range references {
		first.Desired = max(first.Desired, references[i].Desired)
		first.OffAtZero = first.OffAtZero && references[i].OffAtZero
	}
	return first, true
}

func inOrder(a, b Reference) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Scaler, b.Scaler))
}

// Rivals returns the scalers among those of one object that scale it against each other, in order, nil if fewer than two do.
// A scaler and those that it controls are one, and a Canary of Flagger works beside an autoscaler.
func Rivals(references []Reference) []string {
	scalers := make(map[string]bool, len(references))
	for i := range references {
		scalers[references[i].Scaler] = true
	}
	var rivals []string
	for _, r := range slices.SortedFunc(slices.Values(references), inOrder) {
		if !r.shares && !scalers[r.ControlledBy] {
			rivals = append(rivals, r.Scaler)
		}
	}
	if len(rivals) < 2 {
		return nil
	}
	return rivals
}
