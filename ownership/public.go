package ownership

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// Entry is an entry of metadata.managedFields.
type Entry = managedfields.Entry

// The operations of a managedFields entry.
const (
	OperationApply  = managedfields.OperationApply
	OperationUpdate = managedfields.OperationUpdate
)

// ErrManagedFields is returned for managedFields that cannot be read.
var ErrManagedFields = managedfields.ErrUnreadable

// EntriesFor returns the entries whose field set contains the field at path or a field nested under it.
func EntriesFor(entries []Entry, path fieldpath.Path) []Entry {
	return managedfields.For(entries, path)
}

// NewEntry is managedfields.New.
func NewEntry(manager string, like Entry, set *fieldpath.Set) (Entry, error) {
	return managedfields.New(manager, like, set)
}

// CompareEntries is managedfields.Compare.
func CompareEntries(a, b Entry) int { return managedfields.Compare(a, b) }

// EncodeEntries is managedfields.Encode.
func EncodeEntries(entries []Entry) []byte { return managedfields.Encode(entries) }

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
