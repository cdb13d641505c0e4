package source

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// scalerList contains the references of scalers other than HorizontalPodAutoscalers.
type scalerList struct {
	references map[target][]scale.Reference
	// readable are the managers of the kinds that could be read, or are not installed.
	readable []string
}

// add adds a scaler, if it references an object. A mistake in it is not reported here: the webhook reports it on the scaler.
func (l *scalerList) add(kind scale.Kind, rank int, o *unstructured.Unstructured) {
	r, ok, err := kind.ReferenceOf(o.Object, o.GetName(), rank)
	if !ok || err != nil {
		return
	}
	if l.references == nil {
		l.references = map[target][]scale.Reference{}
	}
	at := target{o.GetNamespace(), r.Target, r.TargetName}
	l.references[at] = append(l.references[at], r)
}

// scaledBy sets the scaler of a subject, by the webhook's rules: among the HorizontalPodAutoscalers of its namespace, and the
// other scalers.
func (s *Subject) scaledBy(hpas []autoscalingv2.HorizontalPodAutoscaler, others scalerList) {
	entries, _ := s.Object.Entries() // the caller that reads the fields reports the error
	targeting := scale.Targeting(hpas, s.Kind.GroupKind(), s.Name)
	first, _ := scale.Choose(append(targeting, others.references[targetOf(*s)]...))
	s.Scaler = ownership.Scaler{
		Name: first.Scaler, Desired: first.Desired, OffAtZero: first.OffAtZero, Readable: others.readable,
	}
	s.Context.Autoscaler = s.Scaler.Owner(s.Context.Scale, s.Object, entries, s.Context.Managers)
	s.Context.Managers.Readable = others.readable
	if s.Scaler.Name == "" {
		s.Context.Autoscaler = ownership.NodeGroupScaler(s.Kind.GroupKind(), s.Object)
	}
	for i := range hpas {
		r, ok := scale.OfHPA(&hpas[i])
		ok = ok && slices.Contains(targeting, r) && (r.Scaler == first.Scaler || r.ControlledBy == first.Scaler)
		if at := hpas[i].Status.LastScaleTime; at != nil && ok {
			s.Scaled = at.UTC().Format(time.RFC3339)
		}
	}
}
