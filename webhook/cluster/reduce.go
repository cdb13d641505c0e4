package cluster

import (
	"strings"
	"unique"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/scale"
)

// The indexes of the informers.
const (
	byTarget = "target"
	byKind   = "kind"
)

// reducedBy returns the transform of a cache that stores objects of one type as reduce returns them. Anything else stays as it is,
// such as the marker of an object whose deletion the watch has missed.
func reducedBy[T, R runtime.Object](reduce func(T) R) toolscache.TransformFunc {
	return func(in any) (any, error) {
		if o, ok := in.(T); ok {
			return reduce(o), nil
		}
		return in, nil
	}
}

// namespaces returns the object by which namespaces are watched, and as which they are stored.
func namespaces() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return o
}

// maxMode is the length to which a mode annotation is cut. No mode is as long, and users can write 256 KiB into an annotation.
const maxMode = 128

// reduceNamespace reduces a namespace to its mode annotation and its mode label.
func reduceNamespace(namespace *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	out := namespaces()
	out.Name, out.ResourceVersion = namespace.Name, namespace.ResourceVersion
	if mode, ok := namespace.Annotations[optin.Annotation]; ok {
		out.Annotations = map[string]string{optin.Annotation: strings.Clone(mode[:min(len(mode), maxMode)])}
	}
	if label, ok := namespace.Labels[optin.Label]; ok {
		out.Labels = map[string]string{optin.Label: label}
	}
	return out
}

// reduceAutoscaler reduces a HorizontalPodAutoscaler to its reference, with strings that others have as well.
func reduceAutoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) *scaler {
	out := &scaler{}
	out.Name, out.Namespace, out.ResourceVersion = hpa.Name, shared(hpa.Namespace), hpa.ResourceVersion
	out.reference, out.targets, _ = scale.OfHPA(hpa) // its own controller reports an error
	out.reference.Target.Group, out.reference.Target.Kind = shared(out.reference.Target.Group), shared(out.reference.Target.Kind)
	if out.reference.TargetName == hpa.Name { // as usual
		out.reference.TargetName = hpa.Name
	}
	return out
}

// shared returns an equal string, which shares the memory of those that it returned before.
func shared(s string) string { return unique.Make(s).Value() }

// reduceDefinition reduces a CustomResourceDefinition to the scale subresources of its versions, without the large schemas, and to what is
// served.
func reduceDefinition(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	out := &apiextensionsv1.CustomResourceDefinition{}
	out.Name, out.ResourceVersion = crd.Name, crd.ResourceVersion
	out.Spec.Group, out.Spec.Scope = crd.Spec.Group, crd.Spec.Scope
	out.Spec.Names.Kind, out.Spec.Names.Plural = crd.Spec.Names.Kind, crd.Spec.Names.Plural
	out.Status.Conditions = crd.Status.Conditions
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		version := apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served, Storage: v.Storage}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			version.Subresources = &apiextensionsv1.CustomResourceSubresources{
				Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: v.Subresources.Scale.SpecReplicasPath},
			}
		}
		out.Spec.Versions = append(out.Spec.Versions, version)
	}
	return out
}

// kindOf returns the kind of a CustomResourceDefinition, none if another one defines it.
func kindOf(o any) ([]string, error) {
	crd, ok := o.(*apiextensionsv1.CustomResourceDefinition)
	if !ok || !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		return nil, nil
	}
	return []string{schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}.String()}, nil
}

// scaler is a HorizontalPodAutoscaler, or an object of another kind of scaler, reduced to its reference.
type scaler struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	reference scale.Reference
	targets   bool
	problem   string // why it targets nothing, empty if that is not a mistake
}

// DeepCopyObject implements runtime.Object.
func (s *scaler) DeepCopyObject() runtime.Object {
	out := *s
	out.ObjectMeta = *s.DeepCopy()
	return &out
}

func (s *scaler) target() targetKey {
	return targetKey{s.Namespace, s.reference.Target, s.reference.TargetName}
}

// targetKey identifies an object that a scaler references. Version and resource do not matter.
type targetKey struct {
	namespace string
	kind      schema.GroupKind
	name      string
}

func (k targetKey) String() string {
	return k.namespace + "/" + k.kind.Kind + "." + k.kind.Group + "/" + k.name
}

func targetOfScaler(o any) ([]string, error) {
	s, ok := o.(*scaler)
	if !ok || !s.targets {
		return nil, nil
	}
	return []string{s.target().String()}, nil
}

// find returns the scalers that reference an object.
func find(informer *renewingInformer, key targetKey) (found []*scaler) {
	objects, _ := informer.GetIndexer().ByIndex(byTarget, key.String()) // never fails
	for _, o := range objects {
		if s, ok := o.(*scaler); ok {
			found = append(found, s)
		}
	}
	return found
}
