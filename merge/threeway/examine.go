package threeway

import "github.com/ownership-handoff/handoff/merge/schema"

// strategicpatch compares base with manifest, and manifest with live, even if the values are the same, and fails on elements
// without keys. The functions in this file return the same errors for values that the merge itself need not compare.

// merging is how strategicpatch merges a value.
type merging int

const (
	whole merging = iota
	byField
	byElement
	byInference
)

// merges returns how strategicpatch merges the node's value.
func (n *node) merges(place schema.Schema) merging {
	if n.kind != '{' && n.kind != '[' {
		return whole
	}
	strategy := place.Strategy()
	switch {
	case !n.fits(strategy.Kind):
		return whole
	case n.kind == '{' && strategy.Object != schema.ReplaceObject && strategy.Object != schema.MergePatchFields:
		return byField
	case n.kind == '{' || strategy.List == schema.ReplaceList:
		return whole
	case strategy.List == schema.InferKey:
		return byInference
	default:
		return byElement
	}
}

// examine checks the lists that merge in a value that is the same in manifest and live.
func (m *merger) examine(n *node, place schema.Schema) error {
	switch n.merges(place) {
	case byElement:
		return m.examineList(n, place)
	case byInference:
		return m.noStrategy()
	case byField:
	default:
		return nil
	}
	n.open()
	for i := range n.children {
		c := &n.children[i]
		if c.node.kind != '{' && c.node.kind != '[' {
			continue
		}
		err := m.within(step{name: c.name}, func() error { return m.examine(&c.node, place.Field(c.name)) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) examineList(list *node, place schema.Schema) error {
	strategy, element := place.Strategy(), place.Element()
	list.open()
	var kinds setKinds
	for i := range list.children {
		c := &list.children[i].node
		id, err := m.identify(inManifest, c, i, strategy)
		if err != nil {
			return err
		}
		if strategy.List == schema.MergeSet {
			if err := m.oneKind(&kinds, inManifest, id, i); err != nil {
				return err
			}
			continue
		}
		at := step{element: c, keys: strategy.Keys}
		if err := m.within(at, func() error { return m.examine(c, element) }); err != nil {
			return err
		}
	}
	return nil
}

// presence is what live has of a value that is compared.
type presence int

const (
	notInLive presence = iota // no value of the same kind
	inLiveToo                 // the manifest's value
)

// compare checks the lists that merge in base and manifest, if live has the manifest's value or no value of the same kind. A nil
// base, or one of another kind, is not compared.
func (m *merger) compare(base, manifest *node, place schema.Schema, in presence) error {
	if base == nil || base.kind != manifest.kind {
		return nil
	}
	if base.text != "" && base.text == manifest.text {
		return m.examine(manifest, place)
	}
	switch manifest.merges(place) {
	case byElement:
		return m.compareLists(base, manifest, place, in)
	case byInference:
		return m.noStrategy()
	case byField:
	default:
		return nil
	}
	manifest.open()
	if in == inLiveToo {
		if err := m.baseDirective(base, manifest); err != nil {
			return err
		}
	}
	for i := range manifest.children {
		c := &manifest.children[i]
		if c.node.kind != '{' && c.node.kind != '[' {
			continue
		}
		err := m.within(step{name: c.name}, func() error {
			return m.compare(base.field(c.name, i), &c.node, place.Field(c.name), in)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) compareLists(base, manifest *node, place schema.Schema, in presence) error {
	base.open()
	if len(base.children) == 0 {
		return nil
	}
	strategy, element := place.Strategy(), place.Element()
	wanted, err := m.identified(inManifest, manifest, strategy)
	if err != nil {
		return err
	}
	had, err := m.identified(inBase, base, strategy)
	if err != nil {
		return err
	}
	if strategy.List == schema.MergeSet {
		return m.sameKinds(had, wanted)
	}
	for i := range wanted.elements {
		err := m.within(wanted.step(i), func() error {
			return m.compare(had.find(wanted.ids[i], i), &wanted.elements[i].node, element, in)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// baseDirective returns an error if a base's object has a directive that the manifest lacks. Upstream's patch would delete it
// from live, which strategicpatch reads as another directive.
func (m *merger) baseDirective(base, manifest *node) error {
	base.open()
	for i := range base.children {
		if name := base.children[i].name; isPatchDirective(name) && manifest.find(name, i) < 0 {
			return m.wrong(inBase, ErrDirective, "%s", name)
		}
	}
	return nil
}

// drops reports whether the base has anything that the manifest lacks, within the same objects and elements.
func drops(base, manifest *node, place schema.Schema) bool {
	if base == nil || base == manifest || base.kind != manifest.kind {
		return false
	}
	switch base.merges(place) {
	case byField:
		base.open()
		for i := range base.children {
			c := &base.children[i]
			want := manifest.field(c.name, i)
			if want == nil || drops(&c.node, want, place.Field(c.name)) {
				return true
			}
		}
	case byElement:
		return dropsElement(base, manifest, place)
	default:
	}
	return false
}

func dropsElement(base, manifest *node, place schema.Schema) bool {
	m, strategy := merger{}, place.Strategy()
	had, err := m.identified(inBase, base, strategy)
	wanted, errWanted := m.identified(inManifest, manifest, strategy)
	if err != nil || errWanted != nil {
		return false // the merge returns the error
	}
	for i, id := range had.ids {
		at := wanted.at(id, i)
		if at < 0 || strategy.List == schema.MergeByKey && drops(&had.elements[i].node, &wanted.elements[at].node, place.Element()) {
			return true
		}
	}
	return false
}

// directive returns an error for the first directive in a manifest. A JSON merge patch has no directives.
func (m *merger) directive(n *node, place schema.Schema) error {
	if n.kind != '{' && n.kind != '[' {
		return nil
	}
	n.open()
	isObject := n.kind == '{'
	strategic := place.Strategy().Object != schema.MergePatchFields
	for i := range n.children {
		c := &n.children[i]
		if isObject && strategic && isPatchDirective(c.name) {
			return m.wrong(inManifest, ErrDirective, "%s", c.name)
		}
		at, next := step{name: c.name}, place.Element
		if isObject {
			next = func() schema.Schema { return place.Field(c.name) }
		} else {
			at = step{indexed: true, index: i}
		}
		if err := m.within(at, func() error { return m.directive(&c.node, next()) }); err != nil {
			return err
		}
	}
	return nil
}

// mentionsDirective reports whether a decoded value has a field with the name of a directive.
func mentionsDirective(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if isPatchDirective(name) || mentionsDirective(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if mentionsDirective(inner) {
				return true
			}
		}
	}
	return false
}
