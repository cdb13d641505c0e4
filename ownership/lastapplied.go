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

// ClaimInLastApplied returns what the manifest in a last-applied annotation says about the field at path. The path holds
// field names only.
func ClaimInLastApplied(text string, path fieldpath.Path) (Claim, error) {
	raw := []byte(text)
	if err := rawjson.Check(raw); err != nil {
		return Lacks, fmt.Errorf("%w: %w", ErrLastApplied, err)
	}
	if raw[firstByte(raw)] != '{' {
		return Lacks, fmt.Errorf("%w: %w", ErrLastApplied, ErrNotAnObject)
	}
	names := FieldNames(path)
	if len(names) == 0 {
		return Lacks, fmt.Errorf("%w: path %s goes through a list", ErrLastApplied, path)
	}
	switch value := rawjson.Find(raw, names...).Of(raw); string(value) {
	case "":
		return Lacks, nil
	case "null":
		return Clears, nil
	default:
		return Sets, nil
	}
}

func firstByte(text []byte) int {
	for i, c := range text {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return i
		}
	}
	return 0
}

// Declared is what an applier's write says about one field.
type Declared struct {
	// Manifest is the claim of the manifest applied now, Base that of the one applied before.
	Manifest, Base Claim
	// Recorded says that the manifest is the incoming last-applied annotation, and so the claim stands in its text.
	Recorded bool
}

// DeclaredBy returns what an applier's write says about the field at path. What it is read from depends on the applier:
//   - server-side apply: the applier's own entry in live and in incoming
//   - client-side apply: the last-applied annotation of live and of incoming, which the writer's entry claims or the
//     write has changed
//   - neither, as Helm 3: all that the write changes counts as set by the manifest
//
// An annotation that is there but neither changed nor claimed by the writer is another's, and no manifest of this write.
func DeclaredBy(author Author, live, incoming Object, liveEntries []Entry, path fieldpath.Path) (Declared, error) {
	if author.ServerSide() {
		was, _ := author.Entry.Find(liveEntries)
		return Declared{Manifest: claimOf(author.Entry.Holds(path)), Base: claimOf(was.Holds(path))}, nil
	}
	text, recorded := incoming.LastApplied()
	baseText, hasBase := live.LastApplied()
	changed := claimOf(!bytes.Equal(incoming.Value(path), live.Value(path)))
	if !recorded || (text == baseText && !author.Entry.Holds(lastAppliedPath())) {
		return Declared{Manifest: changed}, nil
	}
	claim, err := ClaimInLastApplied(text, path)
	if err != nil {
		return Declared{}, err
	}
	d := Declared{Manifest: claim, Recorded: true}
	switch {
	case text == baseText:
		d.Base = claim
	case hasBase:
		if d.Base, err = ClaimInLastApplied(baseText, path); err != nil {
			return Declared{}, err
		}
	}
	// kubectl diff sends the change without the annotation that would go with it: a value that neither manifest nor live
	// has is the only trace.
	if text == baseText && changed == Sets && claim == Lacks {
		d.Manifest = Sets
	}
	return d, nil
}

func claimOf(sets bool) Claim {
	if sets {
		return Sets
	}
	return Lacks
}

func lastAppliedPath() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", LastAppliedAnnotation)
}
