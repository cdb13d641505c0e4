package merge

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// Options are what a three-way merge can be asked for beyond what kubectl apply does.
type Options struct {
	// Owner says whose the field at a path is in live. With it, each field that the merge would change or take away is
	// decided by the decision table of docs/decisions.md, for a writer that is an Applier. Nil merges exactly as kubectl
	// apply does.
	//
	// It is asked about scalars, lists and objects that merge as a whole, elements of keyed lists that the manifest lets go
	// of (what is inside goes or stays with them), values of sets, and about other objects and lists once nothing would be
	// left inside; never about what live lacks, nor about the members of a union that the manifest leaves
	// (patchStrategy=retainKeys).
	Owner func(path fieldpath.Path) ownership.Owned
	// Scale is the path of the object's scale field (row 4 of the table), nil where it has none.
	Scale fieldpath.Path
	// Changes receives what the merge does to live, and why: in the manifest's order, what is let go of after what is set.
	// Nil asks for none, and costs nothing.
	Changes *[]Change
}

// ThreeWay merges a manifest into a live object as kubectl apply and the API server do together: what the manifest sets
// is set, what the base (the manifest applied before) has and the manifest lacks is deleted, and all else of live stays.
// Its result is that of strategicpatch.CreateThreeWayMergePatch with overwrite and StrategicMergePatch, for the schema
// JSONMergePatch that of jsonmergepatch.CreateThreeWayJSONMergePatch and MergePatch. docs/merge-differences.md lists the
// cases where it is not, each with its reason.
//
// The values are what JSON decodes into: map[string]any, []any, string, bool, nil, and for numbers int64, float64 or
// json.Number, which one being part of the value. A nil base or manifest is an empty one. The inputs are never changed;
// the result shares with live and the manifest what it takes from them whole, and is live itself where nothing changes.
//
// The error is an *InputError: what does not fit the schema where the merge has to look inside, a keyed list whose
// elements lack their key or share it, a patch directive in the manifest.
func ThreeWay(base, manifest, live map[string]any, schema Schema, options Options) (map[string]any, error) {
	m := merger{options: options}
	b, w, l := given(base), given(manifest), given(live)
	result, err := m.merge(&b, &w, &l, schema)
	if err != nil {
		return nil, err
	}
	merged, _ := result.decode().(map[string]any)
	return merged, nil
}

// ThreeWayJSON is ThreeWay on JSON texts, and returns one: what is taken whole from live or the manifest stands as it was
// written there, numbers and escapes included, and the result is the text of live itself where nothing changes. An empty
// text is an empty object. What is no JSON object by RFC 8259 and RFC 7493, which allows no name twice, is an
// *InputError.
func ThreeWayJSON(base, manifest, live []byte, schema Schema, options Options) ([]byte, error) {
	m, r := merger{options: options, steps: make([]step, 0, 16)}, reader{}
	w, err := r.read(manifest, nil)
	if err != nil {
		return nil, &InputError{Input: inManifest, Err: err}
	}
	b := w
	if !bytes.Equal(base, manifest) {
		if b, err = r.read(base, &w); err != nil {
			return nil, &InputError{Input: inBase, Err: err}
		}
	}
	l, err := r.read(live, &w)
	if err != nil {
		return nil, &InputError{Input: inLive, Err: err}
	}
	result, err := m.merge(&b, &w, &l, schema)
	if err != nil {
		return nil, err
	}
	if len(live) > 0 && result.text == l.text && l.text != "" {
		return live, nil
	}
	return result.appendText(make([]byte, 0, len(live)+len(manifest))), nil
}

// merger is one merge under way.
type merger struct {
	options Options
	// steps lead to the field at hand.
	steps []step
}

func (m *merger) merge(base, manifest, live *node, schema Schema) (node, error) {
	for _, in := range []struct {
		name string
		root *node
	}{{inBase, base}, {inManifest, manifest}, {inLive, live}} {
		if in.root.kind != '{' {
			return node{}, &InputError{Input: in.name, Err: fmt.Errorf("%w: it is %s", ErrWrongKind, in.root.kindName())}
		}
	}
	return m.object(base, manifest, live, schema)
}

// InputError says what is wrong with an input of a merge, and where.
type InputError struct {
	// Input is "base", "manifest" or "live" of ThreeWay, "source" or "destination" of TwoWay.
	Input string
	// Path leads to the place within it; empty for the input as a whole.
	Path fieldpath.Path
	// Err is a reason, wrapped in detail: ErrWrongKind, ErrNoKey, ErrDuplicate, ErrDirective or ErrUnknownDirective; or the
	// JSON reader's error.
	Err error
}

const (
	inBase     = "base"
	inManifest = "manifest"
	inLive     = "live"
)

// Error implements error.
func (e *InputError) Error() string {
	if len(e.Path) == 0 {
		return fmt.Sprintf("%s: %v", e.Input, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.Input, e.Path, e.Err)
}

// Unwrap returns the reason.
func (e *InputError) Unwrap() error { return e.Err }
