package ownership

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// ErrLastApplied is returned for a last-applied annotation that is not a valid JSON object.
var ErrLastApplied = errors.New("annotation " + LastAppliedAnnotation + " cannot be read")

// LastAppliedManifest returns the last-applied configuration, nil if the object has none. The error is ErrLastApplied.
func (o Object) LastAppliedManifest() (*jsontree.Node, error) {
	if o.Annotation(LastAppliedAnnotation) == nil {
		return nil, nil //nolint:nilnil // a nil Node is a missing value
	}
	return o.lastApplied()
}

func (o Object) readLastApplied() (*jsontree.Node, error) {
	text, ok := o.Annotation(LastAppliedAnnotation).Bytes()
	if !ok {
		return nil, fmt.Errorf("%w: not a string", ErrLastApplied)
	}
	root, err := jsontree.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrLastApplied, err)
	case !root.IsObject():
		return nil, fmt.Errorf("%w: %w", ErrLastApplied, ErrNotAnObject)
	}
	return root, nil
}

// sameLastApplied reports whether two objects have the same LastAppliedAnnotation, or both have none.
func sameLastApplied(a, b Object) bool {
	return bytes.Equal(a.Annotation(LastAppliedAnnotation).Text(), b.Annotation(LastAppliedAnnotation).Text())
}

// Sharing returns the object with the last-applied configuration of another one if both have the same, so that it is read once.
func (o Object) Sharing(other Object) Object {
	if o.Present() && other.Present() && sameLastApplied(o, other) {
		o.lastApplied = other.lastApplied
	}
	return o
}

// Declared is how an applier's manifests declare one field.
type Declared struct {
	// Manifest is how the manifest applied now declares the field, Base how the one applied before does.
	Manifest, Base Declaration
}

// ownerWithoutEntry returns the kind of owner of a field that no managedFields entry contains.
func (d Declared) ownerWithoutEntry() Owner {
	if d.Base != Lacks {
		return Manifest
	}
	return Default
}

// Manifests are the manifest that an applier's write applies, and the base, which it applied before. Where they are recorded
// depends on the applier:
//   - server-side apply: the applier's managedFields entry, in incoming and in live
//   - client-side apply: the last-applied annotation, of incoming and of live
//   - others, such as Helm 3: not recorded; every field that the write changes, or that the applier comes to manage, counts as
//     set by the manifest
//
// An annotation that the write does not change and that another applier manages does not count: an example is an object that
// kubectl once applied and that Helm has adopted.
type Manifests struct {
	// Recorded reports whether the manifest is the incoming last-applied annotation.
	Recorded bool
	// Unread is the error about a last-applied annotation that cannot be read (ErrLastApplied), nil if there is none.
	Unread error

	was            Entry          // the sender's entry in live
	manifest, base *jsontree.Node // of client-side apply
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
	isOthers := func(e Entry) bool { return w.Managers.IsApplier(e) && !e.Same(w.Sender.Entry) }
	switch {
	case manifest == nil && err == nil, !own && (err != nil || slices.ContainsFunc(managedfields.For(w.LiveEntries, LastAppliedPath()), isOthers)):
		return found // another applier's annotation may be invalid
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
		return Declared{Manifest: setsIf(!isGone && w.Sender.Entry.Contains(managed)), Base: setsIf(m.was.Contains(managed))}
	}
	changed := !bytes.Equal(is, w.Live.Value(path))
	if !m.Recorded {
		return Declared{Manifest: setsIf(!isGone && (changed || w.gains(managed)))} // another webhook may have restored the value
	}
	declared := Declared{
		Manifest: cmp.Or(declarationIn(m.manifest, path), declarationIn(m.manifest, alias)),
		Base:     cmp.Or(declarationIn(m.base, path), declarationIn(m.base, alias)),
	}
	if m.sameText() && changed && declared.Manifest == Lacks && len(is) > 0 {
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

func (m Manifests) sameText() bool { return bytes.Equal(m.manifest.Document(), m.base.Document()) }

// declarationIn returns how a manifest declares the field at path, Lacks without a path.
func declarationIn(manifest *jsontree.Node, path fieldpath.Path) Declaration {
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

// LastAppliedPath returns the path of LastAppliedAnnotation.
func LastAppliedPath() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", LastAppliedAnnotation)
}

// Defaulted reports whether no manager has declared the field at path of live, as far as that is recorded.
//
// A manager can manage a field without having declared it: the manager that creates an object by an update, as client-side
// apply does, also manages the fields that the API server sets by defaulting
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). What such a manager has declared is
// recorded in two cases: the manifests of the sender of this write, and the last-applied annotation of the manager that wrote
// it. All other managers count as having declared the field.
func (w Write) Defaulted(path fieldpath.Path) bool {
	if w.Declared(path) != (Declared{}) {
		return false
	}
	applied, _ := w.Live.LastAppliedManifest()
	lastAppliedLacks := applied != nil && declarationIn(applied, path) == Lacks
	for _, e := range managedfields.For(w.LiveEntries, path) {
		own := e.Operation == managedfields.OperationUpdate && e.Same(w.Sender.Entry)
		recorded := e.Operation == managedfields.OperationUpdate && e.Contains(LastAppliedPath())
		if !own && (!recorded || !lastAppliedLacks) {
			return false
		}
	}
	return true
}
