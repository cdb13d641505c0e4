package twoway

import (
	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// ListOrder is the order of the elements in a merged list.
type ListOrder int

const (
	// LiveFirst keeps live's elements in their order, followed by the manifest's new elements in the manifest's order. It is
	// MergeOptionsListAppend in kyaml.
	LiveFirst ListOrder = iota
	// ManifestFirst puts the manifest's elements first, in the manifest's order, followed by the elements that only live has.
	// A list with several key fields starts with the manifest's new elements only, followed by all of live's in their order.
	// It is MergeOptionsListPrepend in kyaml.
	ManifestFirst
)

// Options configure a merge. The zero value is kyaml's default.
type Options struct {
	// Order is the order of the elements of merged lists.
	Order ListOrder
}

// Merge merges a manifest into a live object as kustomize merges a strategic merge patch (merge2 of
// sigs.k8s.io/kustomize/kyaml v0.21.1, which has no base). The rules are kyaml's:
//
//   - A scalar in the manifest replaces live's. A null in the manifest clears the field; a null that only live has stays.
//   - An object merges field by field, whatever its schema, unless its field $patch is replace (only the manifest's fields are
//     left) or delete (the object is deleted). $patch: merge has no effect. Other names that begin with $, such as
//     $setElementOrder/containers, are ordinary fields.
//   - A list merges by its schema. An element {$patch: replace|delete|merge} of a list that merges is a directive for the list.
//     In a list that is replaced it is an ordinary element.
//
// The inputs are JSON texts. The result has the texts of values taken from live or the manifest as they are written there, and the
// fields of an object in live's order, followed by those that live lacks. It is null if the manifest deletes the whole object.
//
// s is Kustomize, an Inferred, or the schema of a type. If it is nil, Merge uses the zero Inferred, which merges lists by name.
//
// The error is an *InputError if a text is not a JSON value according to RFC 8259 and RFC 7493, which does not allow duplicate names
// in an object, if manifest and live differ in kind, if an element of a list that merges lacks its key, if a field's name is empty,
// or if a $patch is unknown. docs/merge-differences-twoway.md lists where Merge is stricter than kyaml.
func Merge(manifest, live []byte, s schema.Schema, options Options) ([]byte, error) {
	from, err := jsonnode.Read(inManifest, manifest)
	if err != nil {
		return nil, err
	}
	to, err := jsonnode.Read(inLive, live)
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = new(Inferred)
	}
	m := merger{order: options.Order}
	merged, err := m.over(from, to, s)
	if err != nil {
		return nil, err
	}
	if merged == nil {
		return []byte("null"), nil
	}
	return merged.AppendText(make([]byte, 0, len(manifest)+len(live))), nil
}

type (
	node   = jsonnode.Node
	member = jsonnode.Member
	step   = jsonnode.Step
)

// merger merges one value over another. The result is nil if there is no value.
type merger struct {
	order ListOrder
	// at is the path to the current field.
	at jsonnode.Path
}

// over merges the manifest's value over live's, which is nil if live lacks the field.
func (m *merger) over(manifest, live *node, place schema.Schema) (*node, error) {
	isNew := live == nil || live.Kind == 'n'
	switch {
	case manifest.Kind == 'n':
		return nil, nil //nolint:nilnil // no value and no error
	case manifest.Kind == '{' && isNew:
		return m.object(manifest, &node{Kind: '{'}, place)
	case manifest.Kind == '[' && isNew:
		return m.list(manifest, nil, place)
	case isNew:
		return manifest, nil
	case manifest.Kind == '{' && live.Kind == '{':
		return m.object(manifest, live, place)
	case manifest.Kind == '[' && live.Kind == '[':
		return m.list(manifest, live, place)
	case manifest.IsContainer(), live.IsContainer():
		return nil, m.at.Wrong(inManifest, ErrWrongKind, "it is %s, and %s in live", manifest.Describe(), live.Describe())
	case jsonnode.Equal(manifest, live):
		return live, nil
	default:
		return manifest, nil
	}
}
