package ownership

import (
	"bytes"
	"errors"
	"fmt"

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
//   - client-side apply: the last-applied annotation of incoming and of live, which the writer's entry claims or the
//     write has changed
//   - neither, as Helm 3: all that the write changes, or comes to claim, counts as set by the manifest
//
// An annotation that is there but neither changed nor claimed by the writer is another's, and no manifest of this write.
type Manifests struct {
	// Recorded says that the manifest is the incoming last-applied annotation.
	Recorded bool

	author         Author
	live, incoming Object
	was            Entry  // the author's own in live
	manifest, base []byte // the annotations of client-side apply
}

// ManifestsOf returns the manifests of an applier's write. Live is the zero Object when the write creates, and liveEntries are
// the managedFields of live. The error is ErrLastApplied, for either annotation.
func ManifestsOf(author Author, live, incoming Object, liveEntries []Entry) (Manifests, error) {
	m := Manifests{author: author, live: live, incoming: incoming}
	m.was, _ = author.Entry.Find(liveEntries)
	if author.ServerSide() {
		return m, nil
	}
	manifest, ok := rawjson.UnquoteBytes(incoming.lastApplied.Of(incoming.text))
	base, hadBase := rawjson.UnquoteBytes(live.lastApplied.Of(live.text))
	same := bytes.Equal(manifest, base)
	if !ok || (same && !author.Entry.Holds(LastAppliedPath())) {
		return m, nil
	}
	m.Recorded, m.manifest = true, manifest
	if err := checkLastApplied(m.manifest); err != nil {
		return Manifests{}, err
	}
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
	d := Declared{Manifest: claimIn(m.manifest, path), Base: claimIn(m.base, path)}
	// kubectl diff sends the change without the annotation that would go with it: a value that neither manifest nor live
	// has is the only trace.
	if m.sameText() && changed && d.Manifest == Lacks {
		d.Manifest = Sets
	}
	return d
}

// letsGo says whether the manifest applied now can have let go of anything that the one applied before has set.
func (m Manifests) letsGo() bool { return m.Recorded && len(m.base) > 0 && !m.sameText() }

func (m Manifests) sameText() bool { return bytes.Equal(m.manifest, m.base) }

func claimIn(manifest []byte, path fieldpath.Path) Claim {
	if len(manifest) == 0 {
		return Lacks
	}
	switch value := valueAt(manifest, path).Of(manifest); {
	case string(value) == jsonNull, len(value) == 0 && nullOver(manifest, path):
		return Clears
	case len(value) == 0:
		return Lacks
	default:
		return Sets
	}
}

// nullOver says whether the manifest clears what the field is in, and the field with it: resources: null.
func nullOver(manifest []byte, path fieldpath.Path) bool {
	for end := len(path) - 1; end > 0; end-- {
		if value := valueAt(manifest, path[:end]).Of(manifest); len(value) > 0 {
			return string(value) == jsonNull
		}
	}
	return false
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
