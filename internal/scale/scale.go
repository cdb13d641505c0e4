// Package scale finds the scale subresource of a kind, and the scalers that reference an object: HorizontalPodAutoscalers and
// others, such as KEDA's ScaledObjects.
package scale

import (
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Targeting returns the references of the HorizontalPodAutoscalers among those of one namespace that target an object. Targets
// are compared by group and kind, whatever version an autoscaler names.
func Targeting(hpas []autoscalingv2.HorizontalPodAutoscaler, target schema.GroupKind, name string) (references []Reference) {
	for i := range hpas {
		if r, ok := OfHPA(&hpas[i]); ok && r.Target == target && r.TargetName == name {
			references = append(references, r)
		}
	}
	return references
}

// Target returns the object that an autoscaler targets; ok is false if its apiVersion cannot be parsed, and it targets
// nothing.
func Target(hpa *autoscalingv2.HorizontalPodAutoscaler) (kind schema.GroupKind, name string, ok bool) {
	ref := hpa.Spec.ScaleTargetRef
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, ref.Name, err == nil
}

// desiredBy returns the replicas an autoscaler wants: its recommendation within its bounds.
func desiredBy(hpa *autoscalingv2.HorizontalPodAutoscaler) int64 {
	least := int32(1)
	if hpa.Spec.MinReplicas != nil {
		least = *hpa.Spec.MinReplicas
	}
	return int64(min(max(hpa.Status.DesiredReplicas, least), hpa.Spec.MaxReplicas))
}

// Known returns the path of the scale field of a kind whose path no CustomResourceDefinition declares: a built-in kind, or one
// that an aggregated API server serves. For all others, it returns nil.
func Known(group, kind string) fieldpath.Path {
	// OpenShift (pkg/apps/apiserver/registry/deployconfig/etcd/etcd.go in openshift/openshift-apiserver)
	if group == "apps.openshift.io" && kind == "DeploymentConfig" {
		return fieldpath.MakePathOrDie("spec", "replicas")
	}
	return Builtin(group, kind)
}

// Builtin returns the path of the scale field of a built-in kind, nil if the kind has none or is not built in.
func Builtin(group, kind string) fieldpath.Path {
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

// Declared returns the path of the scale field that a CustomResourceDefinition declares for a version of its kind, nil if
// none of those given does.
func Declared(crds []apiextensionsv1.CustomResourceDefinition, group, version, kind string) fieldpath.Path {
	for i := range crds {
		if crds[i].Spec.Group != group || crds[i].Spec.Names.Kind != kind {
			continue
		}
		for _, v := range crds[i].Spec.Versions {
			if v.Name == version && v.Subresources != nil && v.Subresources.Scale != nil {
				return path(v.Subresources.Scale.SpecReplicasPath)
			}
		}
	}
	return nil
}

// path parses a specReplicasPath: field names after dots, without lists (CustomResourceSubresourceScale).
func path(jsonPath string) fieldpath.Path {
	names := strings.Split(strings.TrimPrefix(jsonPath, "."), ".")
	path := make(fieldpath.Path, len(names))
	for i, name := range names {
		path[i] = fieldpath.FieldNameElement(name)
	}
	return path
}
