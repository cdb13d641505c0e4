package threeway

import (
	"slices"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// field is a field of the manifest, with its values in the three inputs; live and base are nil if they lack it.
type field struct {
	base, manifest, live *node
	place                schema.Schema
}

// field returns the merged value of a field of the manifest: live's own node if nothing changes, a node without kind if the
// result lacks the field.
func (m *merger) field(f field, mergePatch bool) (*node, error) {
	if f.manifest.Kind == 'n' {
		return m.null(f, mergePatch)
	}
	if f.base != nil && f.base.Kind != f.manifest.Kind {
		f.base = nil // a base of another kind has nothing that the manifest could have dropped
	}
	switch {
	case f.live != nil && f.live.Kind == f.manifest.Kind:
		return m.sameKind(f, mergePatch)
	case mergePatch:
		if value := created(f.base, f.manifest); value != nil {
			return m.set(f, value), nil
		}
		return f.live, nil
	}
	// A field that live lacks, or that has a value of another kind there.
	if err := m.compare(f.base, f.manifest, f.place, false); err != nil {
		return nil, err
	}
	return m.set(f, withoutNulls(f.manifest)), nil
}

// sameKind merges a field with values of the same kind in manifest and live.
func (m *merger) sameKind(f field, mergePatch bool) (*node, error) {
	how := merges(f.manifest, f.place)
	switch {
	case how == byField:
		return m.object(f.base, f.manifest, f.live, f.place)
	case how == byElement:
		return m.list(f)
	case jsonnode.Equal(f.manifest, f.live):
		return f.live, nil
	case !fits(f.manifest, f.place):
		return nil, m.at.Wrong(inManifest, ErrWrongKind, "it is %s", f.manifest.Describe())
	case !mergePatch:
		return m.set(f, f.manifest), nil // with nulls, like strategicpatch
	}
	value := withoutNulls(f.manifest)
	if jsonnode.Equal(value, f.live) {
		return f.live, nil
	}
	return m.set(f, value), nil
}

// null merges a field that the manifest sets to null.
func (m *merger) null(f field, mergePatch bool) (*node, error) {
	switch {
	case f.live == nil:
		return nil, nil
	case mergePatch && f.base != nil && f.base.Kind == 'n':
		return f.live, nil // jsonmergepatch sees no change between base and manifest
	case !mergePatch && f.live.Kind == 'n':
		return f.live, nil
	default:
		m.record(Cleared, f.live, nil)
		return nil, nil
	}
}

// set replaces live's value.
func (m *merger) set(f field, value *node) *node {
	verb := Set
	if f.live == nil || f.live.Kind == 'n' {
		verb = Added
	}
	m.record(verb, f.live, value)
	return value
}

// withoutNulls returns a value without the members that are null, at any depth. Null elements of lists stay.
func withoutNulls(n *node) *node {
	var out []member // nil as long as nothing changes
	for i := range n.Children {
		c := &n.Children[i]
		clean := withoutNulls(&c.Node)
		isGone := n.Kind == '{' && c.Node.Kind == 'n'
		if out == nil && (isGone || clean != &c.Node) {
			out = append(make([]member, 0, len(n.Children)), n.Children[:i]...)
		}
		if out != nil && !isGone {
			out = append(out, member{Name: c.Name, Node: *clean})
		}
	}
	if out == nil {
		return n
	}
	return &node{Kind: n.Kind, Children: out}
}

// created returns the value that a JSON merge patch sets for a field that live lacks. Nulls are dropped, but a null that the base
// lacks still creates the object that contains it. It is nil if nothing is set: the manifest's object contains only nulls, all of
// which the base has as well.
func created(base, manifest *node) *node {
	if manifest.Kind != '{' {
		return withoutNulls(manifest)
	}
	isSet := len(manifest.Children) == 0 || base != nil && base.Kind == '{' && slices.ContainsFunc(base.Children, func(c member) bool {
		return manifest.Find(c.Name, -1) < 0
	})
	out := make([]member, 0, len(manifest.Children))
	for i := range manifest.Children {
		c := &manifest.Children[i]
		old := base.Field(c.Name, i)
		if c.Node.Kind == 'n' {
			isSet = isSet || old == nil || old.Kind != 'n'
		} else if value := created(old, &c.Node); value != nil {
			out, isSet = append(out, member{Name: c.Name, Node: *value}), true
		}
	}
	if !isSet {
		return nil
	}
	return &node{Kind: '{', Children: out}
}
