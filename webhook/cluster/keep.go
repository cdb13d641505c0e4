package cluster

import (
	"slices"
	"strings"
	"unique"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// keepTarget reduces a HorizontalPodAutoscaler to its target, and to the fields that determine its desired replicas and whether 0
// replicas switch it off.
func keepTarget(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	out := &autoscalingv2.HorizontalPodAutoscaler{}
	out.Name, out.Namespace, out.ResourceVersion = hpa.Name, shared(hpa.Namespace), hpa.ResourceVersion
	out.Spec.ScaleTargetRef = sharedTarget(hpa)
	out.Spec.MinReplicas, out.Spec.MaxReplicas = hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas
	out.Status.DesiredReplicas, out.Status.Conditions = hpa.Status.DesiredReplicas, scale.ConditionsForCache(hpa)
	if controller := metav1.GetControllerOfNoCopy(hpa); controller != nil {
		out.OwnerReferences = []metav1.OwnerReference{{
			Kind: controller.Kind, Name: controller.Name, Controller: controller.Controller,
		}}
	}
	return out
}

// sharedTarget returns the target of a HorizontalPodAutoscaler, with strings that others have as well. The target's name is
// usually that of the HorizontalPodAutoscaler.
func sharedTarget(hpa *autoscalingv2.HorizontalPodAutoscaler) autoscalingv2.CrossVersionObjectReference {
	ref := hpa.Spec.ScaleTargetRef
	ref.Kind, ref.APIVersion = shared(ref.Kind), shared(ref.APIVersion)
	if ref.Name == hpa.Name {
		ref.Name = hpa.Name
	}
	return ref
}

// shared returns an equal string, which shares the memory of those that it returned before.
func shared(s string) string { return unique.Make(s).Value() }

// keepScale returns a function that reduces a CustomResourceDefinition to the scale subresources of its versions, without the
// large schemas. For kinds of scalers, it also keeps which versions are served.
func keepScale(scalers []scale.Kind) func(*apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	return func(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
		out := &apiextensionsv1.CustomResourceDefinition{}
		out.Name, out.ResourceVersion = crd.Name, crd.ResourceVersion
		out.Spec.Group, out.Spec.Names.Kind = crd.Spec.Group, crd.Spec.Names.Kind
		isScaler := slices.ContainsFunc(scalers, func(k scale.Kind) bool {
			return k.GroupKind.Group == crd.Spec.Group && k.GroupKind.Kind == crd.Spec.Names.Kind
		})
		if isScaler {
			out.Spec.Names.Plural, out.Spec.Scope = crd.Spec.Names.Plural, crd.Spec.Scope
			out.Status.Conditions = crd.Status.Conditions
		}
		for i := range crd.Spec.Versions {
			v := &crd.Spec.Versions[i]
			kept := apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name}
			if isScaler {
				kept.Served, kept.Storage = v.Served, v.Storage
			}
			if hasScale := v.Subresources != nil && v.Subresources.Scale != nil; hasScale {
				kept.Subresources = &apiextensionsv1.CustomResourceSubresources{
					Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: v.Subresources.Scale.SpecReplicasPath},
				}
			} else if !isScaler {
				continue
			}
			out.Spec.Versions = append(out.Spec.Versions, kept)
		}
		return out
	}
}

// targetOf returns the target of a HorizontalPodAutoscaler as the text of a targetKey.
func targetOf(o any) ([]string, error) {
	hpa, ok := o.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return nil, nil
	}
	kind, name, ok := scale.Target(hpa)
	if !ok {
		return nil, nil
	}
	return []string{targetKey{hpa.Namespace, kind, name}.String()}, nil
}

func target(group, kind, name string) string { return kind + "." + group + "/" + name }

func kindOf(o client.Object) []string {
	crd, ok := o.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil
	}
	return []string{schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}.String()}
}
