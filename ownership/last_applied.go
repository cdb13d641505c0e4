package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// ErrLastApplied is returned for a last-applied annotation that is not a valid JSON object.
var ErrLastApplied = errors.New("annotation " + LastAppliedAnnotation + " cannot be read")

// Declared is how an applier's manifests declare one field.
type Declared struct {
	// Manifest is how the manifest applied now declares the field, Base how the one applied before does.
	Manifest, Base Declaration
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

	sender         Sender
	live, incoming Object
	was            Entry  // the sender's entry in live
	manifest, base []byte // the annotations of client-side apply
}

// ManifestsOf returns the manifests of an applier's write. live is the zero Object if the write creates the object, and
// liveEntries are its managedFields. The error is ErrLastApplied, for either annotation.
func (m Managers) ManifestsOf(sender Sender, live, incoming Object, liveEntries []Entry) (Manifests, error) {
	found := Manifests{sender: sender, live: live, incoming: incoming}
	found.was, _ = sender.Entry.Find(liveEntries)
	if sender.ServerSide() {
		return found, nil
	}
	manifest, ok := incoming.LastAppliedBytes()
	if !ok {
		return found, nil
	}
	base, hadBase := manifest, true
	if !bytes.Equal(live.lastApplied.Of(live.text), incoming.lastApplied.Of(incoming.text)) {
		base, hadBase = live.LastAppliedBytes()
	}
	same := bytes.Equal(manifest, base)
	own := !same || sender.Entry.Contains(LastAppliedPath())
	err := checkLastApplied(manifest)
	switch {
	case !own && (err != nil || m.othersAnnotation(sender, liveEntries)):
		return found, nil //nolint:nilerr // another applier's annotation may be invalid
	case err != nil:
		return Manifests{}, err
	}
	found.Recorded, found.manifest = true, manifest
	switch {
	case same:
		found.base = found.manifest
	case hadBase:
		found.base = base
		if err := checkLastApplied(found.base); err != nil {
			return Manifests{}, err
		}
	}
	return found, nil
}

// othersAnnotation reports whether an applier other than the sender manages the last-applied annotation.
func (m Managers) othersAnnotation(sender Sender, live []Entry) bool {
	return slices.ContainsFunc(EntriesFor(live, LastAppliedPath()), func(e Entry) bool {
		return m.IsApplier(e) && !e.Same(sender.Entry)
	})
}

// checkLastApplied returns ErrLastApplied unless the text is a JSON object.
func checkLastApplied(text []byte) error {
	if err := rawjson.Check(text); err != nil {
		return fmt.Errorf("%w: %w", ErrLastApplied, err)
	}
	if bytes.TrimLeft(text, " \t\r\n")[0] != '{' {
		return fmt.Errorf("%w: %w", ErrLastApplied, ErrNotAnObject)
	}
	return nil
}

// On returns how the manifests declare the field at path. It returns Clears only for client-side apply: the other records
// do not have null.
func (m Manifests) On(path fieldpath.Path) Declared {
	if m.sender.ServerSide() {
		return Declared{Manifest: setsIf(m.sender.Entry.Contains(path)), Base: setsIf(m.was.Contains(path))}
	}
	changed := !bytes.Equal(m.incoming.Value(path), m.live.Value(path))
	if !m.Recorded {
		// If another webhook has restored the value, the applier has still become a manager of the field.
		gained := m.sender.Entry.Contains(path) && !m.was.Contains(path)
		return Declared{Manifest: setsIf(changed || gained)}
	}
	return m.recorded(declarationIn(m.manifest, path), declarationIn(m.base, path), changed)
}

// recorded returns how the annotations declare a field. If the write changes the field but not the annotation, the manifest
// counts as setting it: kubectl diff sends a write without the annotation's update.
func (m Manifests) recorded(manifest, base Declaration, changed bool) Declared {
	if m.sameText() && changed && manifest == Lacks {
		manifest = Sets
	}
	return Declared{Manifest: manifest, Base: base}
}

// mayDrop reports whether the manifest may drop fields of the base.
func (m Manifests) mayDrop() bool { return m.Recorded && len(m.base) > 0 && !m.sameText() }

// Manifest returns the JSON text of the manifest of client-side apply; nil if none is recorded.
func (m Manifests) Manifest() []byte { return m.manifest }

// Base returns the JSON text of the base of client-side apply; nil if none is recorded.
func (m Manifests) Base() []byte { return m.base }

// LastApplied is Object.LastAppliedBytes for the incoming or the live object, whose annotations have been decoded before.
func (m Manifests) LastApplied(o Object) (text []byte, ok bool) {
	quoted := o.lastApplied.Of(o.text)
	switch {
	case !m.Recorded || len(quoted) == 0:
	case bytes.Equal(quoted, m.incoming.lastApplied.Of(m.incoming.text)):
		return m.manifest, true
	case bytes.Equal(quoted, m.live.lastApplied.Of(m.live.text)):
		return m.base, true
	}
	return o.LastAppliedBytes()
}

// Declares returns the sender's managedFields entry in live, the zero Entry if there is none. It records the base of appliers
// that do not use the last-applied annotation.
func (m Manifests) Declares() Entry { return m.was }

func (m Manifests) sameText() bool { return bytes.Equal(m.manifest, m.base) }

// declarationIn returns how a manifest declares the field at path.
func declarationIn(manifest []byte, path fieldpath.Path) Declaration {
	if len(manifest) == 0 {
		return Lacks
	}
	if text := valueAt(manifest, path).Of(manifest); len(text) > 0 {
		return declarationBy(text)
	}
	for end := len(path) - 1; end > 0; end-- {
		if text := valueAt(manifest, path[:end]).Of(manifest); len(text) > 0 {
			return declarationByParent(text)
		}
	}
	return Lacks
}

// declarationBy returns how a manifest declares a field by the value that it has for it.
func declarationBy(text []byte) Declaration {
	if string(text) == jsonNull {
		return Clears
	}
	return Sets
}

// declarationByParent returns how a manifest declares a field that it lacks, by the nearest parent that it has. A null parent
// also clears the fields nested under it.
func declarationByParent(parent []byte) Declaration {
	if string(parent) == jsonNull {
		return Clears
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

// LastAppliedPath returns the path of LastAppliedAnnotation.
func LastAppliedPath() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", LastAppliedAnnotation)
}
