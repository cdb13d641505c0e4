package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// Autoscaler contains the parts of a HorizontalPodAutoscaler or another scaler that a survey needs.
type Autoscaler struct {
	Identity
	Reference scale.Reference
	// Path is that of its reference. Problem is why it references nothing.
	Path, Problem string
	// Min and Max are the bounds of a HorizontalPodAutoscaler.
	Min, Max int32
	// Missing reports whether there is no object of the target's name, NotScalable whether there is no such kind, or it has no scale
	// subresource. Since is the time since when its controller has not found the target.
	Missing, NotScalable bool
	Since                string
	// Ambiguous is the time since when it does not scale by metrics because others scale the same pods; empty if it does.
	Ambiguous string
	// Chosen reports whether the query selects it.
	Chosen bool

	labels labels.Set
	scaled string // last scale time
	able   bool   // whether its controller has found the target
	found  bool   // whether the target has been read
}

// Target returns what the autoscaler references, in no version.
func (a *Autoscaler) Target() Identity {
	return Identity{a.Reference.Target.WithVersion(""), a.Namespace, a.Reference.TargetName}
}

// autoscalerOf returns an object as a scaler of the rank-th kind, nil if it references nothing and need not.
func autoscalerOf(o *unstructured.Unstructured, kind scale.Kind, rank int) (*Autoscaler, error) {
	a := &Autoscaler{Identity: IdentityOf(o), Path: kind.PathText(), labels: o.GetLabels()}
	var ok bool
	var problem error
	if kind.GroupKind != hpaKind {
		a.Reference, ok, problem = kind.ReferenceOf(o.Object, a.Name, rank)
	} else {
		hpa, err := Convert[autoscalingv2.HorizontalPodAutoscaler](o) // the versions agree in the fields that are read
		if err != nil {
			return nil, err
		}
		a.addHPA(hpa)
		a.Reference, ok, problem = scale.OfHPA(hpa)
	}
	if problem != nil { // only a survey reports it; the webhook reports it on the scaler
		a.Problem = strings.TrimPrefix(problem.Error(), a.Path+": ")
	} else if !ok {
		return nil, nil //nolint:nilnil // neither a scaler nor an error
	}
	return a, nil
}

// addHPA adds what only a HorizontalPodAutoscaler has.
func (a *Autoscaler) addHPA(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	a.Min, a.Max = 1, hpa.Spec.MaxReplicas
	if hpa.Spec.MinReplicas != nil {
		a.Min = *hpa.Spec.MinReplicas
	}
	if hpa.Status.LastScaleTime != nil {
		a.scaled = hpa.Status.LastScaleTime.UTC().Format(time.RFC3339)
	}
	for _, condition := range hpa.Status.Conditions {
		since := condition.LastTransitionTime.UTC().Format(time.RFC3339)
		switch {
		case condition.Reason == "AmbiguousSelector":
			a.Ambiguous = since
		case condition.Reason == "FailedGetScale":
			a.Since = since
		case condition.Type == autoscalingv2.AbleToScale:
			a.able = true
		}
	}
}

// scalers are the HorizontalPodAutoscalers and the other scalers of a namespace, or of all.
type scalers struct {
	all []*Autoscaler
	of  map[Identity][]*Autoscaler // those with a valid reference, by target
	// readable are the managers of the other kinds that could be read, or are not installed.
	readable []string
	// unread are sentences about the kinds that could not be read.
	unread []string
}

// readScalers reads the HorizontalPodAutoscalers and the scalers of the given kinds in a namespace, or in all.
func readScalers(ctx context.Context, from origin, kinds []scale.Kind, namespace string) (*scalers, error) {
	l := &scalers{of: map[Identity][]*Autoscaler{}}
	hpas := scale.Kind{GroupKind: hpaKind, Path: []string{"spec", "scaleTargetRef"}}
	for rank, kind := range slices.Concat([]scale.Kind{hpas}, kinds) {
		complete, why, err := from.list(ctx, kind.GroupKind, namespace, labels.Everything(), func(o *unstructured.Unstructured) error {
			a, err := autoscalerOf(o, kind, rank)
			if a != nil {
				l.all = append(l.all, a)
			}
			if a != nil && a.Problem == "" {
				l.of[a.Target()] = append(l.of[a.Target()], a)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if why != "" {
			l.unread = append(l.unread, fmt.Sprintf("unknown which objects %ss target%s", kind.GroupKind.Kind, why))
		}
		if complete {
			l.readable = append(l.readable, kind.Managers...)
		}
	}
	return l, nil
}

func (l *scalers) references(at Identity) (all []scale.Reference) {
	for _, a := range l.of[at] {
		all = append(all, a.Reference)
	}
	return all
}

// scaledBy sets the scaler of a subject, by the webhook's rules.
func (s *Subject) scaledBy(l *scalers) {
	entries, _ := s.Object.Entries() // the caller that reads the fields reports the error
	at := s.inAnyVersion()
	first, _ := scale.Choose(l.references(at))
	s.Context.Scaler = ownership.Scaler{
		Name: first.Scaler, Desired: first.Desired, OffAtZero: first.OffAtZero, Readable: l.readable,
	}
	manifest, _ := s.Object.LastAppliedManifest()
	w := ownership.Write{ObjectContext: s.Context, Kind: s.Kind, Live: s.Object, Incoming: s.Object, LiveEntries: entries}
	s.Context.Autoscaler = w.ScalerThatOwns(manifest.Find(s.Context.Scale).Text())
	s.Context.Managers.Readable = l.readable
	for _, a := range l.of[at] {
		if a.scaled != "" && (a.Reference.Scaler == first.Scaler || a.Reference.ControlledBy == first.Scaler) {
			s.Scaled = a.scaled
		}
	}
}
