package cluster

import (
	"strings"
	"unique"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
)

// reducedBy returns the transform of a cache that stores objects of one type as keep reduces them. Anything else stays as it is,
// such as the marker of an object whose deletion the watch has missed.
func reducedBy[T, R runtime.Object](keep func(T) R) toolscache.TransformFunc {
	return func(in any) (any, error) {
		if o, ok := in.(T); ok {
			return keep(o), nil
		}
		return in, nil
	}
}

// maxMode is the length to which a mode annotation is cut. No mode is as long, and users can write 256 KiB into an annotation.
const maxMode = 128

// keepMode reduces a namespace to its mode annotation and its mode label.
func keepMode(namespace *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	out := namespaces()
	out.Name, out.ResourceVersion = namespace.Name, namespace.ResourceVersion
	if mode, ok := namespace.Annotations[ownership.ModeAnnotation]; ok {
		out.Annotations = map[string]string{ownership.ModeAnnotation: strings.Clone(mode[:min(len(mode), maxMode)])}
	}
	if label, ok := namespace.Labels[ownership.ModeLabel]; ok {
		out.Labels = map[string]string{ownership.ModeLabel: label}
	}
	return out
}

// keepAutoscaler reduces a HorizontalPodAutoscaler to its reference, with strings that others have as well.
func keepAutoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) *scaler {
	out := &scaler{}
	out.Name, out.Namespace, out.ResourceVersion = hpa.Name, shared(hpa.Namespace), hpa.ResourceVersion
	out.reference, out.targets = scale.OfHPA(hpa)
	out.reference.Target.Group, out.reference.Target.Kind = shared(out.reference.Target.Group), shared(out.reference.Target.Kind)
	if out.reference.TargetName == hpa.Name { // as usual
		out.reference.TargetName = hpa.Name
	}
	return out
}

// shared returns an equal string, which shares the memory of those that it returned before.
func shared(s string) string { return unique.Make(s).Value() }

// keepScale reduces a CustomResourceDefinition to the scale subresources of its versions, without the large schemas, and to what is
// served.
func keepScale(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	out := &apiextensionsv1.CustomResourceDefinition{}
	out.Name, out.ResourceVersion = crd.Name, crd.ResourceVersion
	out.Spec.Group, out.Spec.Scope = crd.Spec.Group, crd.Spec.Scope
	out.Spec.Names.Kind, out.Spec.Names.Plural = crd.Spec.Names.Kind, crd.Spec.Names.Plural
	out.Status.Conditions = crd.Status.Conditions
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		kept := apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served, Storage: v.Storage}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			kept.Subresources = &apiextensionsv1.CustomResourceSubresources{
				Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: v.Subresources.Scale.SpecReplicasPath},
			}
		}
		out.Spec.Versions = append(out.Spec.Versions, kept)
	}
	return out
}

func kindOf(o any) ([]string, error) {
	crd, ok := o.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil, nil
	}
	return []string{schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}.String()}, nil
}
