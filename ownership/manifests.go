package ownership

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

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

// ReadManifests returns the manifests of an applier's write, given the entries and the sender. An annotation that cannot be read counts as
// missing, and Unread is the error.
func (w Write) ReadManifests() (found Manifests) {
	found.was, _ = w.Sender.Entry.Find(w.LiveEntries)
	if w.Sender.ServerSide() {
		return found
	}
	manifest, err := w.Incoming.LastAppliedManifest()
	isNew := !sameLastApplied(w.Live, w.Incoming)
	if isNew && manifest != nil && !w.Incoming.hasOwnLastApplied() {
		manifest, err = nil, fmt.Errorf("%w: it is that of another object", ErrLastApplied)
	}
	own := isNew || w.Sender.Entry.Contains(LastAppliedPath())
	isOthers := func(e Entry) bool { return (w.Managers.IsApplier(e) || e.IsAnonymous()) && !e.Same(w.Sender.Entry) }
	isHelms := func(e Entry) bool { return e.Manager == w.Sender.Entry.Manager && e.Contains(HelmReleasePath()) }
	switch {
	case manifest == nil && err == nil:
		return found
	case !own && (err != nil || slices.ContainsFunc(w.IncomingEntries, isHelms) ||
		slices.ContainsFunc(managedfields.For(w.LiveEntries, LastAppliedPath()), isOthers)):
		return found // it is another applier's, which may be invalid, or the object's before Helm adopted it
	case err != nil:
		found.Unread = err
		return found
	}
	found.Recorded, found.manifest = true, manifest
	found.base, found.Unread = w.Live.LastAppliedManifest()
	return found
}

// Declared returns how the manifests declare the field at path: Clears only for client-side apply, as the other records do not have null.
func (w Write) Declared(path fieldpath.Path) Declared { return w.declared(path, nil, nil) }

// declared is Declared for a field that a manifest can also set at another path, the alias, or that is inside an atomic field, of which
// a manifest sets all or nothing. Either is nil if there is none.
func (w Write) declared(path, alias, atomic fieldpath.Path) Declared {
	m, managed, is := w.Manifests, path, w.Incoming.Value(path)
	if atomic != nil {
		managed = atomic
	}
	isGone := atomic != nil && len(is) == 0
	if w.Sender.ServerSide() {
		contains := func(e Entry) bool { return e.Contains(managed) || alias != nil && e.Contains(alias) }
		return Declared{Manifest: setsIf(!isGone && contains(w.Sender.Entry)), Base: setsIf(contains(m.was))}
	}
	changed := !bytes.Equal(is, w.Live.Value(path))
	if !m.Recorded {
		return Declared{Manifest: setsIf(len(is) > 0 && changed || !isGone && w.gains(managed))} // another webhook may have restored the value
	}
	declared := Declared{
		Manifest: cmp.Or(DeclarationIn(m.manifest, path), DeclarationIn(m.manifest, alias)),
		Base:     cmp.Or(DeclarationIn(m.base, path), DeclarationIn(m.base, alias)),
	}
	if changed && declared.Manifest == Lacks && len(is) > 0 && m.sameText() {
		// kubectl diff, and other commands of the applier, such as kubectl patch --field-manager=ci, leave the annotation as it is.
		declared.Manifest = Sets
	}
	return declared
}

// gains reports whether the sender comes to manage a field.
func (w Write) gains(path fieldpath.Path) bool {
	return w.Sender.Entry.Contains(path) && !w.Manifests.was.Contains(path)
}

// Unsent reports whether the write may be that of kubectl diff, which does not send its manifest: a dry run with the annotation of live.
func (w Write) Unsent() bool { return w.DryRun && w.Manifests.Recorded && w.Manifests.sameText() }

// BaseValue returns the value that the base sets in a field, as JSON, nil if it sets none or has no values.
func (m Manifests) BaseValue(path fieldpath.Path) []byte { return m.base.Find(path).Text() }

func (m Manifests) sameText() bool { return bytes.Equal(m.manifest.Document(), m.base.Document()) }

// DeclarationIn returns how a manifest declares the field at path, Lacks without a path or a manifest.
func DeclarationIn(manifest *jsontree.Node, path fieldpath.Path) Declaration {
	nearest, length := manifest.Nearest(path)
	switch {
	case nearest.IsNull(): // a null parent also clears the fields nested under it
		return Clears
	case length < len(path) || len(path) == 0:
		return Lacks
	default:
		return Sets
	}
}

// setsIf returns Sets or Lacks.
func setsIf(sets bool) Declaration {
	if sets {
		return Sets
	}
	return Lacks
}

// Defaulted reports whether no manager has declared the field at path of live, as far as that is recorded.
//
// A manager can manage a field without having declared it: the manager that creates an object by an update, as client-side
// apply does, also manages the fields that the API server sets by defaulting
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). What such a manager has declared is
// recorded in two cases: the manifests of the sender of this write, and the last-applied annotation of the manager that wrote
// it. All other managers count as having declared the field.
func (w Write) Defaulted(path fieldpath.Path) bool {
	if w.Declared(path) != (Declared{}) || !w.Meter.Spend(stepsPerName*len(w.LiveEntries)) {
		return false
	}
	applied, _ := w.Live.LastAppliedManifest()
	lastAppliedLacks := applied != nil && DeclarationIn(applied, path) == Lacks
	for _, e := range managedfields.For(w.LiveEntries, path) {
		own := e.Operation == managedfields.OperationUpdate && e.Same(w.Sender.Entry)
		recorded := e.Operation == managedfields.OperationUpdate && e.Contains(LastAppliedPath())
		if !own && (!recorded || !lastAppliedLacks) {
			return false
		}
	}
	return true
}
