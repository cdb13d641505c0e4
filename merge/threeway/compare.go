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
func merges(n *node, place schema.Schema) merging {
	if !n.IsContainer() {
		return whole
	}
	strategy := place.Strategy()
	switch {
	case !fits(n, strategy.Kind):
		return whole
	case n.Kind == '{' && strategy.Object != schema.ReplaceObject && strategy.Object != schema.MergePatchFields:
		return byField
	case n.Kind == '{' || strategy.List == schema.ReplaceList:
		return whole
	case strategy.List == schema.InferKey:
		return byInference
	default:
		return byElement
	}
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
	if base == nil || base.Kind != manifest.Kind {
		return nil
	}
	if base.Text != "" && base.Text == manifest.Text {
		base = manifest
	}
	switch merges(manifest, place) {
	case byElement:
		return m.compareLists(base, manifest, place, in)
	case byInference:
		return m.noStrategy()
	case byField:
	default:
		return nil
	}
	manifest.Open()
	if in == inLiveToo {
		if err := m.baseDirective(base, manifest, place); err != nil {
			return err
		}
	}
	for i := range manifest.Children {
		c := &manifest.Children[i]
		if !c.Node.IsContainer() {
			continue
		}
		err := m.within(step{name: c.Name}, func() error {
			return m.compare(base.Field(c.Name, i), &c.Node, place.Field(c.Name), in)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) compareLists(base, manifest *node, place schema.Schema, in presence) error {
	if len(base.Open()) == 0 {
		return nil
	}
	strategy, element := place.Strategy(), place.Element()
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
	for i := range wanted.elements {
		err := m.within(wanted.step(i), func() error {
			return m.compare(had.find(wanted.ids[i], i), &wanted.elements[i].Node, element, in)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// baseDirective returns an error if a base's object has a directive that the manifest lacks. Upstream's patch would delete it
// from live, which strategicpatch reads as another directive. Only the $retainKeys of a union is replaced, by upstream's own.
func (m *merger) baseDirective(base, manifest *node, place schema.Schema) error {
	union := place.Strategy().Object == schema.RetainKeys && setsMember(manifest)
	for i := range base.Open() {
		name := base.Children[i].Name
		if isPatchDirective(name) && manifest.Find(name, i) < 0 && (name != "$retainKeys" || !union) {
			return m.wrong(inBase, ErrDirective, "%s", name)
		}
	}
	return nil
}

// drops reports whether the base has anything that the manifest lacks, within the same objects and elements.
func drops(base, manifest *node, place schema.Schema) bool {
	if base == nil || base == manifest || base.Kind != manifest.Kind {
		return false
	}
	switch merges(base, place) {
	case byField:
		for i := range base.Open() {
			c := &base.Children[i]
			want := manifest.Field(c.Name, i)
			if want == nil || drops(&c.Node, want, place.Field(c.Name)) {
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
	had, err := m.identified(inBase, base, place)
	wanted, errWanted := m.identified(inManifest, manifest, place)
	if err != nil || errWanted != nil {
		return false // the merge returns the error
	}
	for i, id := range had.ids {
		at := wanted.at(id, i)
		if at < 0 || strategy.List == schema.MergeByKey && drops(&had.elements[i].Node, &wanted.elements[at].Node, place.Element()) {
			return true
		}
	}
	return false
}

// directive returns an error for the first directive in a manifest. A JSON merge patch has no directives.
func (m *merger) directive(n *node, place schema.Schema) error {
	if !n.IsContainer() {
		return nil
	}
	isObject := n.Kind == '{'
	strategic := place.Strategy().Object != schema.MergePatchFields
	for i := range n.Open() {
		c := &n.Children[i]
		if isObject && strategic && isPatchDirective(c.Name) {
			return m.wrong(inManifest, ErrDirective, "%s", c.Name)
		}
		at, next := step{name: c.Name}, place.Element
		if isObject {
			next = func() schema.Schema { return place.Field(c.Name) }
		} else {
			at = step{indexed: true, index: i}
		}
		if err := m.within(at, func() error { return m.directive(&c.Node, next()) }); err != nil {
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
