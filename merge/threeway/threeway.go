package threeway

import (
	"bytes"
	"fmt"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// Options change what a merge does, or report it. The zero value merges exactly as kubectl apply does.
type Options struct {
	// Keep reports whether a field of live stays as it is, although the merge is about to make the change. Nil keeps
	// nothing. Keep must not change the values.
	//
	// It is asked about scalars, lists and objects that are replaced as a whole, elements of keyed lists that the
	// manifest drops (their fields go or stay with them), values of sets, and about other objects and lists once none of
	// their parts would be left. It is not asked about fields that live lacks, nor about the members of a union that the
	// manifest leaves (patchStrategy=retainKeys).
	Keep func(Change) bool
	// Changes receives what the merge does to live, in the manifest's order; what the manifest drops follows what it
	// sets. Nil asks for none, and costs nothing.
	Changes *[]Change
}

// Merge merges a manifest into a live object as kubectl apply and the API server do together: fields that the manifest
// sets are set, fields that the base (the manifest applied before) has and the manifest lacks are deleted, and all other
// fields of live stay. A nil base or manifest is an empty one.
//
// The schema is that of the live object. A nil schema is schema.JSONMergePatch, as kubectl uses it for custom resources.
//
// The values are what JSON decodes into: map[string]any, []any, string, bool, nil, and for numbers int64, float64 or
// json.Number, which one being part of the value. The inputs are never changed; the result shares with live and the
// manifest what it takes from them whole, and is live itself where nothing changes.
//
// The error is an *InputError: elements of a keyed list lack their key or share it, objects or lists that have to merge are
// of another kind than the schema declares, or the manifest holds a patch directive. For a schema that infers keys it is
// ErrNoStrategy.
func Merge(base, manifest, live map[string]any, s schema.Schema, options Options) (map[string]any, error) {
	m := merger{options: options, directives: mentionsDirective(manifest), unordered: options.Keep == nil && options.Changes == nil}
	b, w, l := given(base), given(manifest), given(live)
	result, err := m.merge(&b, &w, &l, s)
	if err != nil && m.unordered { // once more in the order of names, for the same error each time
		m = merger{options: options, directives: m.directives}
		b, w, l = given(base), given(manifest), given(live)
		result, err = m.merge(&b, &w, &l, s)
	}
	if err != nil {
		return nil, err
	}
	merged, _ := result.decode().(map[string]any)
	return merged, nil
}

// MergeJSON is Merge on JSON texts, and returns one: what is taken whole from live or the manifest stands as it was
// written there, numbers and escapes included, and the result is the text of live itself where nothing changes. An empty
// text is an empty object. A text that is not a JSON object by RFC 8259 and RFC 7493, which allows no name twice, is an
// *InputError.
func MergeJSON(base, manifest, live []byte, s schema.Schema, options Options) ([]byte, error) {
	m, r := merger{options: options, steps: make([]step, 0, 16)}, reader{}
	w, err := r.read(manifest, nil)
	if err != nil {
		return nil, &InputError{Input: inManifest, Err: err}
	}
	m.directives = r.directives
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
	result, err := m.merge(&b, &w, &l, s)
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
	// directives says that the manifest may hold a patch directive.
	directives bool
	// unordered says that it makes no difference in which order members merge.
	unordered bool
	// steps lead to the field at hand.
	steps []step
}

func (m *merger) merge(base, manifest, live *node, s schema.Schema) (node, error) {
	for _, in := range []struct {
		name string
		root *node
	}{{inBase, base}, {inManifest, manifest}, {inLive, live}} {
		if in.root.kind != '{' {
			return node{}, &InputError{Input: in.name, Err: fmt.Errorf("%w: it is %s", ErrWrongKind, in.root.kindName())}
		}
	}
	if s == nil {
		s = schema.JSONMergePatch()
	}
	if s.Strategy().List == schema.InferKey {
		return node{}, ErrNoStrategy
	}
	if m.directives {
		if err := m.directive(manifest, s); err != nil {
			return node{}, err
		}
	}
	return m.object(base, manifest, live, s)
}
