package ownership

import (
	"bytes"
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
		return Declared{Manifest: setsIf(!isGone && contains(w.Sender.Entry)), Base: setsIf(contains(w.Sender.Was))}
	}
	changed := !bytes.Equal(is, w.Live.Value(path))
	if !m.Recorded {
		return Declared{Manifest: setsIf(len(is) > 0 && changed || !isGone && w.gains(managed))} // another webhook may have restored the value
	}
	declared := Declared{Manifest: DeclarationIn(m.manifest, path, alias), Base: DeclarationIn(m.base, path, alias)}
	// kubectl diff, and other commands of the applier, such as kubectl patch --field-manager=ci, leave the annotation as it is. But in a
	// write that is stored, an unchanged manifest without the scale field has not set its default: the object was replaced.
	isReplaced := w.IsScale(path) && !w.DryRun && mayBeUnset(is)
	if changed && declared.Manifest == Lacks && len(is) > 0 && m.sameText() && !isReplaced {
		declared.Manifest = Sets
	}
	return declared
}

// gains reports whether the sender comes to manage a field.
func (w Write) gains(path fieldpath.Path) bool {
	return w.Sender.Entry.Contains(path) && !w.Sender.Was.Contains(path)
}

// Unsent reports whether the write may be that of kubectl diff, which does not send its manifest: a dry run with the annotation of live.
func (w Write) Unsent() bool { return w.DryRun && w.Manifests.Recorded && w.Manifests.sameText() }

// BaseValue returns the value that the base sets in a field, as JSON, nil if it sets none or has no values.
func (m Manifests) BaseValue(path fieldpath.Path) []byte { return m.base.Find(path).Text() }

func (m Manifests) sameText() bool { return bytes.Equal(m.manifest.Document(), m.base.Document()) }

// DeclarationIn returns how a manifest declares a field, at the first of its paths that the manifest mentions: Lacks if there is none.
func DeclarationIn(manifest *jsontree.Node, paths ...fieldpath.Path) Declaration {
	for _, path := range paths {
		nearest, length := manifest.Nearest(path)
		switch {
		case nearest.IsNull(): // a null parent also clears the fields nested under it
			return Clears
		case length == len(path) && len(path) > 0:
			return Sets
		}
	}
	return Lacks
}

// setsIf returns Sets or Lacks.
func setsIf(sets bool) Declaration {
	if sets {
		return Sets
	}
	return Lacks
}
