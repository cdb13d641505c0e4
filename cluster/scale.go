package cluster

import (
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Targeting returns which of the HorizontalPodAutoscalers of one namespace targets an object, as Facts.Autoscaler does.
func Targeting(hpas []autoscalingv2.HorizontalPodAutoscaler, group, kind, name string) (autoscaler string, desired int64) {
	var first *autoscalingv2.HorizontalPodAutoscaler
	wanted := target(group, kind, name)
	for i := range hpas {
		hpa := &hpas[i]
		if slices.Contains(targetOf(hpa), wanted) && (first == nil || hpa.Name < first.Name) {
			first = hpa
		}
	}
	if first == nil {
		return "", 0
	}
	return "HorizontalPodAutoscaler " + first.Name, desiredBy(first)
}

// TargetOf returns what an autoscaler targets; ok is false where its apiVersion cannot be read, so that it is nothing.
func TargetOf(hpa *autoscalingv2.HorizontalPodAutoscaler) (kind schema.GroupKind, name string, ok bool) {
	ref := hpa.Spec.ScaleTargetRef
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, ref.Name, err == nil
}

// desiredBy returns how many replicas an autoscaler wants: what it has found out, within its bounds.
func desiredBy(hpa *autoscalingv2.HorizontalPodAutoscaler) int64 {
	least := int32(1)
	if hpa.Spec.MinReplicas != nil {
		least = *hpa.Spec.MinReplicas
	}
	return int64(min(max(hpa.Status.DesiredReplicas, least), hpa.Spec.MaxReplicas))
}

// BuiltinScale returns the path of the scale field of a built-in kind, nil where the kind has none or is not built in.
func BuiltinScale(group, kind string) fieldpath.Path {
	switch kind {
	case "Deployment", "StatefulSet", "ReplicaSet":
		if group != "apps" {
			return nil
		}
	case "ReplicationController":
		if group != "" {
			return nil
		}
	default:
		return nil
	}
	return fieldpath.MakePathOrDie("spec", "replicas")
}

// DeclaredScale returns the path of the scale field that a definition among those given declares for a version of its kind,
// nil where none does.
func DeclaredScale(crds []apiextensionsv1.CustomResourceDefinition, group, version, kind string) fieldpath.Path {
	for i := range crds {
		if crds[i].Spec.Group != group || crds[i].Spec.Names.Kind != kind {
			continue
		}
		for _, v := range crds[i].Spec.Versions {
			if v.Name == version && v.Subresources != nil && v.Subresources.Scale != nil {
				return scalePath(v.Subresources.Scale.SpecReplicasPath)
			}
		}
	}
	return nil
}

// scalePath reads a specReplicasPath: names behind dots, without lists (CustomResourceSubresourceScale).
func scalePath(jsonPath string) fieldpath.Path {
	names := strings.Split(strings.TrimPrefix(jsonPath, "."), ".")
	path := make(fieldpath.Path, len(names))
	for i, name := range names {
		path[i] = fieldpath.FieldNameElement(name)
	}
	return path
}
