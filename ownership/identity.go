package ownership

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

// HasPrefix reports whether a path is a prefix or nested under it.
func HasPrefix(path, prefix fieldpath.Path) bool {
	return len(prefix) <= len(path) && path[:len(prefix)].Equals(prefix)
}

// isNeverKept reports whether no rule keeps a field: those that identify the object, its managedFields and last-applied
// configuration, status, and handoff's own label and annotations.
func isNeverKept(path fieldpath.Path) bool {
	return isOwn(path) || inStatus(path) || isIdentity(path)
}

// isIdentity reports whether a field is one of the IdentityPaths.
func isIdentity(path fieldpath.Path) bool {
	return slices.ContainsFunc(identityPaths, func(p fieldpath.Path) bool { return HasPrefix(path, p) })
}

// inStatus reports whether a field is in status, which manifests do not set.
func inStatus(path fieldpath.Path) bool {
	return fieldpattern.IsNamed(path[0], "status")
}

var identityPaths = IdentityPaths()

// IdentityPaths returns the paths of the fields that identify an object, or that only the API server sets. No rule can assign
// them, and no manifest can stop managing them.
func IdentityPaths() []fieldpath.Path {
	names := append(GeneratedMetadata(),
		"name", "generateName", "namespace", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
	paths := make([]fieldpath.Path, 0, len(names)+2)
	paths = append(paths, fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"))
	for _, name := range names {
		paths = append(paths, fieldpath.MakePathOrDie("metadata", name))
	}
	return paths
}
