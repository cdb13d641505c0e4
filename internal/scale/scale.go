// Package scale finds the scale subresource of a kind, and the scalers that reference an object: HorizontalPodAutoscalers and
// others, such as KEDA's ScaledObjects.
package scale

import (
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

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
	switch group + "/" + kind {
	case "apps/Deployment", "apps/StatefulSet", "apps/ReplicaSet", "/ReplicationController":
		return fieldpath.MakePathOrDie("spec", "replicas")
	default:
		return nil
	}
}

// Declared returns the path of the scale field that a CustomResourceDefinition declares for a version. A version
// without a scale subresource has the path of another version: the storage version's, else the first. The two can differ if a
// conversion webhook moves fields, so callers check that the object has an integer there. The path is nil if no version declares
// one.
func Declared(crd *apiextensionsv1.CustomResourceDefinition, version string) (other fieldpath.Path) {
	for _, v := range crd.Spec.Versions {
		if v.Subresources == nil || v.Subresources.Scale == nil {
			continue
		}
		declared := path(v.Subresources.Scale.SpecReplicasPath)
		if v.Name == version {
			return declared
		}
		if other == nil || v.Storage {
			other = declared
		}
	}
	return other
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
