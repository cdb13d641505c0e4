package ownership

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
)

// HasPrefix reports whether a path is a prefix or nested under it.
func HasPrefix(path, prefix fieldpath.Path) bool { return fieldpattern.HasPrefix(path, prefix) }

// GeneratedMetadata returns the names of the metadata that the API server generates for every object.
func GeneratedMetadata() []string { return apitypes.GeneratedMetadata() }

// IdentityPaths returns the paths of the fields that identify an object.
func IdentityPaths() []fieldpath.Path { return apitypes.IdentityPaths() }

// StringData returns the path in stringData by which the manifest of a Secret can set the field at path in data.
func StringData(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	return apitypes.StringData(kind, path)
}
