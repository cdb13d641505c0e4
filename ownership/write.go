package ownership

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Write is a write to an object as admission sees it. Nothing changes the texts that it refers to.
type Write struct {
	// Live is the object as stored, the zero Object where the write creates it; Incoming is the object about to be stored.
	Live, Incoming Object
	// Kind is that of both objects. Without a version, every managedFields entry counts as recorded in this one.
	Kind schema.GroupVersionKind
	// LiveEntries and IncomingEntries are the managedFields of either object.
	LiveEntries, IncomingEntries []Entry
	// Author is who sends the write.
	Author Author
	// Managers says what the managers of the entries stand for.
	Managers Managers
	// Manifests are those of an applier's write (Managers.ManifestsOf).
	Manifests Manifests
	// Meter bounds the work on this write; nil does not.
	Meter Meter
}

// Meter counts steps of work, about one for each byte that is read, and reports whether the work may go on.
type Meter func(steps int) (ok bool)

// InOtherVersion reports whether an entry has been recorded in another version of the kind than the write's, so that its
// paths need not be those of the write's objects.
func (w Write) InOtherVersion(e Entry) bool {
	if w.Kind.Version == "" || e.APIVersion == "" {
		return false
	}
	group, version, found := strings.Cut(e.APIVersion, "/")
	if !found {
		group, version = "", e.APIVersion
	}
	return group != w.Kind.Group || version != w.Kind.Version
}

// MovesFrom reports whether claims that the write takes from an entry, without changing the fields' values, are moved on
// purpose. That is so from one applier to another, as kubectl migrates from client-side to server-side apply. It is so as
// well where they go to an Apply entry whose time is an old one: whoever applies gets a new time, and whoever writes
// managedFields itself copies what was there, as Flux does to take over what kubectl wrote (fluxcd/pkg/ssa,
// PatchReplaceFieldsManagers). In all other cases the value was changed, and something before this webhook put it back.
func (w Write) MovesFrom(e Entry) bool {
	if w.Managers.IsApplier(e) {
		return true
	}
	return w.Author.ServerSide() && slices.ContainsFunc(w.LiveEntries, func(was Entry) bool {
		return was.Time != "" && was.Time == w.Author.Entry.Time
	})
}

// ScalePaths returns the path of an object's scale field in an API version ("apps/v1"), nil where that has none.
type ScalePaths func(apiVersion string) fieldpath.Path

// StringData returns the other path at which the manifest of a Secret can set a field, nil where there is none: what it has
// in stringData becomes data (k8s.io/api/core/v1, Secret).
func StringData(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	isSecret := kind.Group == "" && kind.Kind == "Secret"
	if !isSecret || len(path) != 2 || path[0].FieldName == nil || *path[0].FieldName != "data" {
		return nil
	}
	return fieldpath.Path{fieldpath.FieldNameElement("stringData"), path[1]}
}
