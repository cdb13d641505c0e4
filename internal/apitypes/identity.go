// Package apitypes knows the built-in types of the Kubernetes API by heart: what identifies an object, how the API server stores values,
// which fields mean the same, and which combinations it refuses. Each statement names its source.
package apitypes

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
)

// GeneratedMetadata returns the names of the metadata that the API server generates for every object
// (k8s.io/apimachinery/pkg/apis/meta/v1, ObjectMeta).
func GeneratedMetadata() []string {
	return []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"}
}

// IdentityPaths returns the paths of the fields that identify an object, or that only the API server sets. No rule can assign
// them, and no manifest can stop managing them.
func IdentityPaths() []fieldpath.Path { return slices.Clone(identityPaths) }

var identityPaths = newIdentityPaths()

func newIdentityPaths() []fieldpath.Path {
	names := append(GeneratedMetadata(), "name", "generateName", "namespace", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
	paths := append(make([]fieldpath.Path, 0, len(names)+2), fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"))
	for _, name := range names {
		paths = append(paths, fieldpath.MakePathOrDie("metadata", name))
	}
	return paths
}

// IsIdentity reports whether a field is at one of the IdentityPaths or nested under it.
func IsIdentity(path fieldpath.Path) bool {
	return slices.ContainsFunc(identityPaths, func(p fieldpath.Path) bool { return fieldpattern.HasPrefix(path, p) })
}

// InStatus reports whether a field is in status, which manifests do not set.
func InStatus(path fieldpath.Path) bool { return fieldpattern.IsNamed(path[0], "status") }
