package threeway

import (
	"slices"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// strategicpatch compares base with manifest, and manifest with live, even if the values are the same, and fails on elements
// without keys. The functions in this file return the same errors for values that the merge itself need not compare.

// merging is how a value merges.
type merging int

const (
	whole merging = iota
	byField
	byElement
)

// merges returns how a value merges.
func merges(n *node, place schema.Schema) merging {
	strategy := place.Strategy()
	switch {
	case !fits(n, place):
		return whole
	case n.Kind == '{' && strategy.Object != schema.ReplaceObject:
		return byField
	case n.Kind == '[' && strategy.List != schema.ReplaceList:
		return byElement
	default:
		return whole
	}
}

// fits reports whether an object or a list is of the declared kind.
func fits(n *node, place schema.Schema) bool {
	kind := place.Strategy().Kind
	switch n.Kind {
	case '{':
		return kind == schema.AnyKind || kind == schema.ObjectKind
	case '[':
		return kind == schema.AnyKind || kind == schema.ListKind
	default:
		return true
	}
}

// compare checks the lists that merge in base and manifest. inLive reports whether live has the manifest's value; otherwise it has no
// value of the same kind. A nil base, or one of another kind, is not compared.
func (m *merger) compare(base, manifest *node, place schema.Schema, inLive bool) error {
	if base == nil || base.Kind != manifest.Kind {
		return nil
	}
	base = sameAs(base, manifest)
	switch merges(manifest, place) {
	case byElement:
		return m.compareLists(base, manifest, place, inLive)
	case byField:
	default:
		return nil
	}
	if inLive {
		if err := m.baseDirective(base, manifest, place); err != nil {
			return err
		}
	}
	for i := range manifest.Children {
		c := &manifest.Children[i]
		if !c.Node.IsContainer() {
			continue
		}
		m.at.Enter(step{Name: c.Name})
		if err := m.compare(base.Field(c.Name, i), &c.Node, place.Field(c.Name), inLive); err != nil {
			return err
		}
		m.at.Leave()
	}
	return nil
}

func (m *merger) compareLists(base, manifest *node, place schema.Schema, inLive bool) error {
	strategy, element := place.Strategy(), place.Element()
	if strategy.List == schema.InferKey {
		return m.noStrategy()
	}
	if len(base.Children) == 0 {
		return nil
	}
	wanted, err := m.identified(inManifest, manifest, place)
	if err != nil {
		return err
	}
	had := wanted
	if base != manifest {
		if had, err = m.identified(inBase, base, place); err != nil {
			return err
		}
	}
	if strategy.List == schema.MergeSet {
		return m.sameKinds(had, wanted)
	}
	for i := range wanted.list {
		m.at.Enter(wanted.step(i))
		if err := m.compare(had.find(wanted.ids[i], i), &wanted.list[i].Node, element, inLive); err != nil {
			return err
		}
		m.at.Leave()
	}
	return nil
}

// baseDirective returns an error if a base's object has a directive, which no manifest has (directive). Upstream's patch would delete
// it from live, which strategicpatch reads as another directive. Only the $retainKeys of a union is replaced, by upstream's own.
func (m *merger) baseDirective(base, manifest *node, place schema.Schema) error {
	if place.Strategy().Object == schema.MergePatchFields {
		return nil
	}
	union := place.Strategy().Object == schema.RetainKeys && setsMember(manifest)
	for i := range base.Children {
		if name := base.Children[i].Name; isPatchDirective(name) && (name != "$retainKeys" || !union) {
			return m.at.Wrong(inBase, ErrDirective, "%s", name)
		}
	}
	return nil
}

// drops reports whether the base's object has anything that the manifest lacks, within the same objects and elements: whether a merge
// into the base deletes it. If that is an error, the merge returns it.
func drops(base, manifest *node, place schema.Schema) bool {
	if base == nil || base == manifest {
		return false
	}
	m := merger{options: Options{Report: func(Change) {}}}
	for i := range base.Children {
		c := &base.Children[i]
		want := manifest.Field(c.Name, i)
		if want == nil {
			return true
		}
		if _, err := m.field(field{base: &c.Node, manifest: want, live: &c.Node, place: place.Field(c.Name)}, false); err != nil {
			return false
		}
	}
	return slices.ContainsFunc(m.changes, func(c Change) bool { return c.Verb == Deleted })
}

// directive returns an error for the first directive in a manifest. A JSON merge patch has no directives.
func (m *merger) directive(n *node, place schema.Schema) error {
	if !n.IsContainer() {
		return nil
	}
	isObject := n.Kind == '{'
	strategic := place.Strategy().Object != schema.MergePatchFields
	for i := range n.Children {
		c := &n.Children[i]
		if isObject && strategic && isPatchDirective(c.Name) {
			return m.at.Wrong(inManifest, ErrDirective, "%s", c.Name)
		}
		at, next := step{Name: c.Name}, place.Field(c.Name)
		if !isObject {
			at, next = step{IsIndex: true, Index: i}, place.Element()
		}
		m.at.Enter(at)
		if err := m.directive(&c.Node, next); err != nil {
			return err
		}
		m.at.Leave()
	}
	return nil
}
