package threeway

import (
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
func (m *merger) field(f field, mergePatch bool) (node, error) {
	if f.manifest.Kind == jsonnode.Unsupported {
		return node{}, m.wrong(inManifest, ErrWrongKind, "%s", f.manifest.Describe())
	}
	if f.manifest.Kind == 'n' {
		return m.null(f, mergePatch)
	}
	if f.base != nil && !f.base.Is(f.manifest) {
		f.base = nil // a base of another kind has nothing that the manifest could have dropped
	}
	switch {
	case f.live != nil && f.live.Kind == jsonnode.Unsupported:
		return node{}, m.wrong(inLive, ErrWrongKind, "%s", f.live.Describe())
	case f.live != nil && f.live.Is(f.manifest):
		return m.sameKind(f, mergePatch)
	case mergePatch:
		return m.create(f), nil
	default:
		return m.add(f)
	}
}

// sameKind merges a field with values of the same kind in manifest and live.
func (m *merger) sameKind(f field, mergePatch bool) (node, error) {
	strategy := f.place.Strategy()
	if !fits(f.manifest, strategy.Kind) {
		if equal(f.manifest, f.live) {
			return *f.live, nil
		}
		return node{}, m.wrong(inManifest, ErrWrongKind, "%s", f.manifest.Describe())
	}
	switch {
	case f.manifest.Kind == '[' && strategy.List == schema.InferKey:
		return node{}, m.noStrategy()
	case f.manifest.Kind == '{' && strategy.Object != schema.ReplaceObject:
		return m.object(f.base, f.manifest, f.live, f.place)
	case f.manifest.Kind == '[' && strategy.List != schema.ReplaceList:
		return m.list(f)
	case equal(f.manifest, f.live):
		return *f.live, nil
	case mergePatch:
		value := withoutNulls(f.manifest)
		if equal(&value, f.live) {
			return *f.live, nil
		}
		return m.set(f, value), nil
	default:
		return m.set(f, *f.manifest), nil // with nulls, like strategicpatch
	}
}

// fits reports whether an object or a list is of the declared kind.
func fits(n *node, holds schema.Kind) bool {
	switch n.Kind {
	case '{':
		return holds == schema.AnyKind || holds == schema.ObjectKind
	case '[':
		return holds == schema.AnyKind || holds == schema.ListKind
	default:
		return true
	}
}

// null merges a field that the manifest sets to null.
func (m *merger) null(f field, mergePatch bool) (node, error) {
	switch {
	case f.live == nil:
		return node{}, nil
	case mergePatch && f.base != nil && f.base.Kind == 'n':
		return *f.live, nil // jsonmergepatch sees no change between base and manifest
	case !mergePatch && f.live.Kind == 'n':
		return *f.live, nil
	default:
		return m.remove(removal{live: f.live, place: f.place, null: true})
	}
}

// add sets a field that live lacks, or that has a value of another kind in live. Nulls in the value are dropped.
func (m *merger) add(f field) (node, error) {
	if err := m.compare(f.base, f.manifest, f.place, notInLive); err != nil {
		return node{}, err
	}
	return m.set(f, withoutNulls(f.manifest)), nil
}

// create is add for a JSON merge patch.
func (m *merger) create(f field) node {
	value, there := created(f.base, f.manifest)
	switch {
	case there:
		return m.set(f, value)
	case f.live != nil:
		return *f.live
	default:
		return node{}
	}
}

// set replaces live's value, unless Options.Keep keeps it.
func (m *merger) set(f field, value node) node {
	if f.live == nil || f.live.Kind == 'n' {
		m.record(Added, f.live, &value)
		return value
	}
	if m.keeps(Set, f.live, &value) {
		return *f.live
	}
	m.record(Set, f.live, &value)
	return value
}

// withoutNulls returns a value without the members that are null, at any depth. Null elements of lists stay.
func withoutNulls(n *node) node {
	if !n.IsContainer() {
		return *n
	}
	var out []member
	for i := range n.Open() {
		c := &n.Children[i]
		clean := withoutNulls(&c.Node)
		gone := n.Kind == '{' && c.Node.Kind == 'n'
		if out == nil && (gone || clean.IsMade() && !c.Node.IsMade()) {
			out = append(make([]member, 0, len(n.Children)), n.Children[:i]...)
		}
		if out != nil && !gone {
			out = append(out, member{Name: c.Name, Node: clean})
		}
	}
	if out == nil {
		return *n
	}
	return node{Kind: n.Kind, Children: out}
}

// created returns the value that a JSON merge patch sets for a field that live lacks. Nulls are dropped, but a null that the base
// lacks still creates the object that contains it. there is false if nothing is set: the manifest's object contains only nulls,
// all of which the base has as well.
func created(base, manifest *node) (result node, there bool) {
	if manifest.Kind != '{' {
		return withoutNulls(manifest), true
	}
	if base != nil && base.Kind != '{' {
		base = nil
	}
	there = len(manifest.Open()) == 0 || dropsMember(base, manifest)
	out := make([]member, 0, len(manifest.Children))
	for i := range manifest.Children {
		c := &manifest.Children[i]
		old := base.Field(c.Name, i)
		if c.Node.Kind == 'n' {
			there = there || old == nil || old.Kind != 'n'
		} else if value, ok := created(old, &c.Node); ok {
			out, there = append(out, member{Name: c.Name, Node: value}), true
		}
	}
	return node{Kind: '{', Children: out}, there
}

// dropsMember reports whether the base has a member that the manifest lacks.
func dropsMember(base, manifest *node) bool {
	if base == nil {
		return false
	}
	for i := range base.Open() {
		if manifest.Find(base.Children[i].Name, i) < 0 {
			return true
		}
	}
	return false
}
