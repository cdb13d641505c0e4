package ownership

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// ErrLastApplied is returned for a last-applied annotation that cannot be read.
var ErrLastApplied = errors.New("annotation " + LastAppliedAnnotation + " cannot be read")

// Declared is what an applier's write says about one field.
type Declared struct {
	// Manifest is the claim of the manifest applied now, Base that of the one applied before.
	Manifest, Base Claim
}

// Manifests are the manifest that an applier's write applies and the one that was applied before, wherever the applier
// records them:
//   - server-side apply: its own entry in incoming and in live
//   - client-side apply: the last-applied annotation of incoming and of live
//   - neither, as Helm 3: everything that the write changes, or comes to claim, counts as set by the manifest
//
// An annotation that the write leaves as it is and that another applier claims is that one's, and no manifest of this write:
// Helm has adopted an object that kubectl once applied.
type Manifests struct {
	// Recorded reports whether the manifest is the incoming last-applied annotation.
	Recorded bool

	author         Author
	live, incoming Object
	was            Entry  // the author's own in live
	manifest, base []byte // the annotations of client-side apply
}

// ManifestsOf returns the manifests of an applier's write. Live is the zero Object when the write creates, and liveEntries are
// the managedFields of live. The error is ErrLastApplied, for either annotation.
func (managers Managers) ManifestsOf(author Author, live, incoming Object, liveEntries []Entry) (Manifests, error) {
	m := Manifests{author: author, live: live, incoming: incoming}
	m.was, _ = author.Entry.Find(liveEntries)
	if author.ServerSide() {
		return m, nil
	}
	manifest, ok := rawjson.UnquoteBytes(incoming.lastApplied.Of(incoming.text))
	base, hadBase := rawjson.UnquoteBytes(live.lastApplied.Of(live.text))
	same := bytes.Equal(manifest, base)
	if !ok {
		return m, nil
	}
	own := !same || author.Entry.Holds(LastAppliedPath())
	err := checkLastApplied(manifest)
	switch {
	case !own && (err != nil || managers.othersAnnotation(author, liveEntries)):
		return m, nil //nolint:nilerr // what is another's need not be readable
	case err != nil:
		return Manifests{}, err
	}
	m.Recorded, m.manifest = true, manifest
	switch {
	case same:
		m.base = m.manifest
	case hadBase:
		m.base = base
		if err := checkLastApplied(m.base); err != nil {
			return Manifests{}, err
		}
	}
	return m, nil
}

// othersAnnotation reports whether another applier than the author claims the last-applied annotation.
func (managers Managers) othersAnnotation(author Author, live []Entry) bool {
	return slices.ContainsFunc(Holders(live, LastAppliedPath()), func(e Entry) bool {
		return managers.IsApplier(e) && !e.Same(author.Entry)
	})
}

func checkLastApplied(text []byte) error {
	if err := rawjson.Check(text); err != nil {
		return fmt.Errorf("%w: %w", ErrLastApplied, err)
	}
	if bytes.TrimLeft(text, " \t\r\n")[0] != '{' {
		return fmt.Errorf("%w: %w", ErrLastApplied, ErrNotAnObject)
	}
	return nil
}

// On returns what the manifests say about the field at path. A manifest that is recorded as a set of fields (server-side
// apply) or not at all never says null.
func (m Manifests) On(path fieldpath.Path) Declared {
	if m.author.ServerSide() {
		return Declared{Manifest: claimOf(m.author.Entry.Holds(path)), Base: claimOf(m.was.Holds(path))}
	}
	changed := !bytes.Equal(m.incoming.Value(path), m.live.Value(path))
	if !m.Recorded {
		// Where something before us has put the value back, the claim that the writer has gained still tells.
		gained := m.author.Entry.Holds(path) && !m.was.Holds(path)
		return Declared{Manifest: claimOf(changed || gained)}
	}
	return m.recorded(claimIn(m.manifest, path), claimIn(m.base, path), changed)
}

// recorded returns what the annotations say, and what the change alone tells: kubectl diff sends it without the annotation
// that would go with it. A value that neither manifest nor live has is the only trace.
func (m Manifests) recorded(manifest, base Claim, changed bool) Declared {
	if m.sameText() && changed && manifest == Lacks {
		manifest = Sets
	}
	return Declared{Manifest: manifest, Base: base}
}

// drops reports whether the manifest applied now can lack anything that the one applied before has set.
func (m Manifests) drops() bool { return m.Recorded && len(m.base) > 0 && !m.sameText() }

// Manifest returns the text of the manifest that client-side apply applies now; nil where none is recorded.
func (m Manifests) Manifest() []byte { return m.manifest }

// Base returns the text of the manifest that client-side apply applied before; nil where none is recorded.
func (m Manifests) Base() []byte { return m.base }

// Declares returns the entry by which the author of the write declared its fields in live, where that is recorded by
// managedFields: the author's own.
func (m Manifests) Declares() Entry { return m.was }

func (m Manifests) sameText() bool { return bytes.Equal(m.manifest, m.base) }

func claimIn(manifest []byte, path fieldpath.Path) Claim {
	if len(manifest) == 0 {
		return Lacks
	}
	if text := valueAt(manifest, path).Of(manifest); len(text) > 0 {
		return claimOfText(text)
	}
	for end := len(path) - 1; end > 0; end-- {
		if text := valueAt(manifest, path[:end]).Of(manifest); len(text) > 0 {
			return clearsWithin(text)
		}
	}
	return Lacks
}

// claimOfText returns what a manifest says about a field by the value that it gives it.
func claimOfText(text []byte) Claim {
	if string(text) == jsonNull {
		return Clears
	}
	return Sets
}

// clearsWithin returns what a manifest says about a field by the value of the nearest parent that it has: a parent that is
// null clears the field with it.
func clearsWithin(parent []byte) Claim {
	if string(parent) == jsonNull {
		return Clears
	}
	return Lacks
}

func claimOf(sets bool) Claim {
	if sets {
		return Sets
	}
	return Lacks
}

// LastAppliedPath returns the path of LastAppliedAnnotation.
func LastAppliedPath() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", LastAppliedAnnotation)
}
