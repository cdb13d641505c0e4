package ownership

import (
	"fmt"

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

	// ObjectContext has the managers, with the rules of the object, and the scale field. Scaler is what references the object.
	ObjectContext
	Scaler Scaler

	// LiveEntries and IncomingEntries are the managedFields of the two objects, Sender is the field manager that sends the write, and
	// Manifests are those of an applier's write (Read).
	LiveEntries, IncomingEntries []Entry
	Sender                       Sender
	Manifests                    Manifests

	// Meter limits the work on this write; nil sets no limit.
	Meter Meter
}

// Read reads what the objects record, given the Managers: the entries of managedFields, the sender and, for an applier, the manifests. The
// error is ErrManagedFields.
func (w *Write) Read() (err error) {
	if w.LiveEntries, err = w.Live.Entries(); err != nil {
		return fmt.Errorf("oldObject: %w", err)
	}
	w.LiveEntries = managedfields.Joined(w.LiveEntries)
	if w.IncomingEntries, err = w.Incoming.Entries(); err != nil {
		return fmt.Errorf("object: %w", err)
	}
	if w.Sender = w.SentBy(); w.Sender.Writer == Applier {
		w.Manifests = w.ReadManifests()
	}
	return nil
}

// Meter counts steps of work, about one for each byte read, and reports whether the work may continue.
type Meter = jsontree.Meter

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

// ScalePaths returns the path of an object's scale field in an API version ("apps/v1"). It is that of another version if the kind
// declares none there, and nil if it declares none at all.
type ScalePaths func(apiVersion string) fieldpath.Path
