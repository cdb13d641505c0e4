package ownership

import (
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Write is a write to an object, as an admission webhook sees it. The texts that it refers to must not change.
type Write struct {
	// Live is the stored object, the zero Object if the write creates it. Incoming is the object about to be stored.
	Live, Incoming Object
	// Kind is the kind of both objects. If its version is empty, every managedFields entry counts as recorded in the same
	// version.
	Kind schema.GroupVersionKind
	// LiveEntries and IncomingEntries are the managedFields of the two objects.
	LiveEntries, IncomingEntries []Entry
	// Sender is the field manager that sends the write (SentBy).
	Sender Sender
	// Managers are the kinds of the field managers, on objects of this kind (Managers.For).
	Managers Managers
	// Manifests are those of an applier's write (Managers.ManifestsOf).
	Manifests Manifests
	// Meter limits the work on this write; nil sets no limit.
	Meter Meter
}

// Meter counts steps of work, about one for each byte read, and reports whether the work may continue.
type Meter func(steps int) (ok bool)

// InOtherVersion reports whether an entry was recorded in another API version than the write's, so that its paths may differ
// from those in the write's objects.
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

// Moves returns whether the write moves fields on purpose from an entry of live to another manager, given that it removes them
// from the entry without changing their values. pairs are all entries of the write (Pairs). There are two such cases:
//   - The entry is an applier's, as when kubectl migrates an object from client-side to server-side apply.
//   - The sender rewrites managedFields, and replaces the whole entry by its own Apply entry, as Flux does to take over the
//     fields that kubectl wrote (fluxcd/pkg/ssa, PatchReplaceFieldsManagers). No client does that to entries of subresources.
//
// In all other cases the sender changed the value, and another admission plugin restored it.
func (w Write) Moves(pairs iter.Seq[Pair]) func(Pair) bool {
	rewrites, managers := w.rewritesManagers(pairs), w.Managers // not all of w, which the function would retain
	return func(p Pair) bool {
		return managers.IsApplier(p.Live) || rewrites && !p.InIncoming && p.Live.Subresource == ""
	}
}

// rewritesManagers reports whether the sender's Apply entry has the time that it had before, or that of an entry that the write
// removes. An apply sets the time of the apply; a client that rewrites managedFields copies an old one. Times are whole seconds,
// so equal times of other entries mean nothing.
func (w Write) rewritesManagers(pairs iter.Seq[Pair]) bool {
	if !w.Sender.ServerSide() || w.Sender.Entry.Time == "" {
		return false
	}
	sender := w.Sender.Entry
	for p := range pairs {
		replaced := p.InLive && !p.InIncoming || p.InIncoming && sender.Same(p.Incoming)
		if replaced && p.Live.Time == sender.Time {
			return true
		}
	}
	return false
}

// ScalePaths returns the path of an object's scale field in an API version ("apps/v1"), nil if the kind has none there.
type ScalePaths func(apiVersion string) fieldpath.Path

// StringData returns the path in stringData by which the manifest of a Secret can set the field at path in data
// (k8s.io/api/core/v1, Secret). It returns nil for other kinds and paths.
func StringData(kind schema.GroupKind, path fieldpath.Path) fieldpath.Path {
	isSecret := kind.Group == "" && kind.Kind == "Secret"
	if !isSecret || len(path) != 2 || path[0].FieldName == nil || *path[0].FieldName != "data" {
		return nil
	}
	return fieldpath.Path{fieldpath.FieldNameElement("stringData"), path[1]}
}
