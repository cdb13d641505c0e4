package ownership

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// Write is a write to an object, as an admission webhook sees it. The texts that it refers to must not change.
type Write struct {
	// Live is the stored object, the zero Object if the write creates it. Incoming is the object about to be stored.
	Live, Incoming Object
	// Namespace and Name are those of both objects.
	Namespace, Name string
	// Kind is the kind of both objects. If its version is empty, every managedFields entry counts as recorded in the same
	// version.
	Kind schema.GroupVersionKind
	// FieldManager is the one in the request's options, or empty.
	FieldManager string
	// DryRun reports whether the result is not stored.
	DryRun bool

	// ObjectContext has the managers, with the rules of the object, and the scale field.
	ObjectContext

	// LiveEntries and IncomingEntries are the managedFields of the two objects, Sender is the field manager that sends the write, and
	// Manifests are those of an applier's write (Read).
	LiveEntries, IncomingEntries []Entry
	Sender                       Sender
	Manifests                    Manifests

	// Meter limits the work on this write; nil sets no limit.
	Meter Meter
}

// Sender is the field manager that sends a write.
type Sender struct {
	Writer Writer
	// Entry is the sender's managedFields entry in the incoming object. If there is none, it has only the manager and the
	// operation. Was is the same entry in live, the zero Entry if there is none.
	Entry, Was Entry
}

// ServerSide reports whether the write is a server-side apply.
func (s Sender) ServerSide() bool { return s.Entry.Operation == managedfields.OperationApply }

// Manifests are the manifest that an applier's write applies, and the base, which it applied before. Where they are recorded
// depends on the applier:
//   - server-side apply: the applier's managedFields entry, in incoming and in live
//   - client-side apply: the last-applied annotation, of incoming and of live
//   - others, such as Helm 3: not recorded; every field that the write changes, or that the applier comes to manage, counts as
//     set by the manifest
//
// An annotation that the write does not change does not count if another applier manages it, or if the sender manages a Helm release:
// Helm has adopted an object that kubectl once applied.
type Manifests struct {
	// Recorded reports whether the manifest is the incoming last-applied annotation.
	Recorded bool
	// Unread is the error about a last-applied annotation that cannot be read (ErrLastApplied), nil if there is none.
	Unread error

	manifest, base *jsontree.Node // of client-side apply
}

// Limit sets the meter of the write and of all that it refers to; nil sets no limit.
func (w *Write) Limit(meter Meter) {
	w.Meter = meter
	for _, root := range []*jsontree.Node{w.Live.root, w.Incoming.root, w.Manifests.manifest, w.Manifests.base} {
		root.Limit(meter)
	}
}

// InOtherVersion reports whether an entry was recorded in another API version than the write's, so that its paths may differ
// from those in the write's objects.
func (w Write) InOtherVersion(e Entry) bool {
	gv, err := schema.ParseGroupVersion(e.APIVersion)
	return w.Kind.Version != "" && e.APIVersion != "" && (err != nil || gv != w.Kind.GroupVersion())
}

// ScaleIn returns the path of the scale field, or of the parent that it is kept with, in the API version of an entry, given that in the
// write's version.
func (w Write) ScaleIn(e Entry, scale fieldpath.Path) fieldpath.Path {
	if w.Managers.Scale == nil || !w.InOtherVersion(e) {
		return scale
	}
	return w.Managers.Scale(e.APIVersion)
}

// ManagesScale reports whether an entry contains the scale field, in whatever API version it was recorded.
func (w Write) ManagesScale(e Entry) bool { return e.Contains(w.ScaleIn(e, w.Scale)) }
