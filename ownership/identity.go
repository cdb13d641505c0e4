package ownership

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// IdentityPaths returns the paths of the fields that identify an object, or that only the API server sets
// (k8s.io/apimachinery/pkg/apis/meta/v1, ObjectMeta). No rule can assign them, and no manifest can stop managing them.
func IdentityPaths() []fieldpath.Path {
	names := []string{
		"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink",
	}
	paths := make([]fieldpath.Path, 0, len(names)+2)
	paths = append(paths, fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"))
	for _, name := range names {
		paths = append(paths, fieldpath.MakePathOrDie("metadata", name))
	}
	return paths
}
