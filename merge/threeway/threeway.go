package threeway

import (
	"bytes"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// Options of a merge.
type Options struct {
	// Report, if not nil, is called for each change to live after a merge without an error: in each object first for the fields
	// that the manifest sets, in its order, then for those that it drops.
	Report func(Change)
}

// Merge merges a manifest into a live object as kubectl apply and the API server do together. It sets the fields that the
// manifest sets, deletes the fields that the base has and the manifest lacks, and leaves all other fields of live as they are.
//
// s is the schema of the live object. If it is nil, Merge uses schema.JSONMergePatch, as kubectl does for custom resources.
//
// The inputs are JSON texts; an empty text counts as an empty object. The result has the texts of values taken from live or the
// manifest as they are written there, including numbers and escapes, and is live itself if nothing changes.
//
// The error is an *InputError if a text is not a JSON object according to RFC 8259 and RFC 7493, which does not allow duplicate
// names, if elements of a keyed list lack their key or share it, if an object or list that has to merge is not of the kind that the
// schema declares, or if the manifest contains a patch directive. It is ErrNoStrategy if the schema infers keys.
func Merge(base, manifest, live []byte, s schema.Schema, options Options) ([]byte, error) {
	m := merger{options: options}
	w, err := read(inManifest, manifest)
	if err != nil {
		return nil, err
	}
	b := w
	if !bytes.Equal(base, manifest) {
		if b, err = read(inBase, base); err != nil {
			return nil, err
		}
	}
	l, err := read(inLive, live)
	if err != nil {
		return nil, err
	}
	result, err := m.merge(b, w, l, s)
	if err != nil {
		return nil, err
	}
	for _, c := range m.changes {
		options.Report(c)
	}
	if len(live) > 0 && result == l {
		return live, nil
	}
	return result.AppendText(make([]byte, 0, len(live)+len(manifest))), nil
}

// read returns the node of an input; an empty text counts as an empty object.
func read(input string, text []byte) (*node, error) {
	if len(text) == 0 {
		text = []byte("{}")
	}
	return jsonnode.Read(input, text)
}

type (
	node   = jsonnode.Node
	member = jsonnode.Member
	step   = jsonnode.Step
)

// merger is the state of a merge.
type merger struct {
	options Options
	// at is the path to the current field.
	at jsonnode.Path
	// changes are those made so far; empty without Options.Report.
	changes []Change
}

func (m *merger) merge(base, manifest, live *node, s schema.Schema) (*node, error) {
	for _, in := range []struct {
		name string
		root *node
	}{{inBase, base}, {inManifest, manifest}, {inLive, live}} {
		if in.root.Kind != '{' {
			return nil, m.at.Wrong(in.name, ErrWrongKind, "it is %s", in.root.Describe())
		}
	}
	if s == nil {
		s = schema.JSONMergePatch()
	}
	if s.Strategy().List == schema.InferKey {
		return nil, ErrNoStrategy
	}
	if err := m.directive(manifest, s); err != nil {
		return nil, err
	}
	return m.object(base, manifest, live, s)
}
