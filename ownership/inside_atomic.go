package ownership

import (
	"bytes"
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// insideField is a field inside an atomic field, which is one value to the API server: a Service's selector, or a list without keys
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy). Its managers are those of the atomic field.
type insideField struct {
	atomic *fieldtree.Node
	rules  []*Rule // that name it, in their order
	// unmatched reports that it is a list in live with elements that have no unique names, and that rules name something in them.
	unmatched bool
}

// Why elements of lists are not matched.
const (
	notUnique           = "list elements have no unique names"
	notUniqueInManifest = "list elements have no unique names in the manifest"
)

// addAtomic records a leaf of an entry that a rule leads into.
func (s *search) addAtomic(n *fieldtree.Node) { s.atomic[n] = true }

// addInside adds the fields inside atomic fields that rules name and that objects have. A map of which an entry only contains the map
// itself is not atomic if another entry contains its keys.
func (s *search) addInside(accepts func(*Rule) bool, objects ...Object) {
	if len(s.atomic) == 0 {
		return
	}
	for _, e := range slices.Concat(s.write.LiveEntries, s.write.IncomingEntries) {
		s.tree.Managed(e.Fields, func(n *fieldtree.Node, subset *jsontree.Node) {
			if !fieldtree.IsLeaf(subset) {
				delete(s.atomic, n)
			}
		})
	}
	matcher := s.context.Managers.rules.matcher(s.write.Meter, accepts)
	for _, n := range slices.Clone(s.tree.Nodes()) {
		if !s.atomic[n] {
			continue
		}
		path := n.Path()
		w := insideWalk{search: s, matcher: matcher, atomic: n}
		for _, o := range objects {
			w.visit(path, o.root.Find(path), matcher.at(path))
		}
	}
}

// insideWalk finds the fields inside an atomic field.
type insideWalk struct {
	search  *search
	matcher patternMatcher
	atomic  *fieldtree.Node
}

// visit adds the fields at or nested under a path to which patterns lead.
func (w insideWalk) visit(path fieldpath.Path, value *jsontree.Node, at []*patternNode) {
	if rules := w.rulesAt(at); len(rules) > 0 && len(path) > w.atomic.Depth() {
		w.add(path, insideField{atomic: w.atomic, rules: rules})
		return
	}
	if value.Kind() == '[' {
		w.visitElements(path, value, at)
		return
	}
	for part := range value.Parts() {
		if next := w.matcher.next(at, "f:"+part.Name()); len(next) > 0 {
			w.visit(appended(path, fieldpath.FieldNameElement(part.Name())), part, next)
		}
	}
}

// visitElements is visit for a list. If rules name something in an element without a unique name, the list is added as well.
func (w insideWalk) visitElements(path fieldpath.Path, list *jsontree.Node, at []*patternNode) {
	var unmatched []*Rule
	for element := range list.Parts() {
		named := w.named(list, element, at)
		if len(named.next) > 0 {
			w.visit(appended(path, named.name), element, named.next)
		} else {
			unmatched = append(unmatched, w.rulesIn(element, named.unclear)...)
		}
	}
	if len(unmatched) > 0 {
		w.add(path, insideField{atomic: w.atomic, rules: inOrder(unmatched), unmatched: true})
	}
}

// rulesIn returns the rules that name something at or nested under a value to which patterns lead.
func (w insideWalk) rulesIn(value *jsontree.Node, at []*patternNode) []*Rule {
	rules := w.rulesAt(at)
	if len(rules) > 0 || len(at) == 0 {
		return rules
	}
	for part := range value.Parts() {
		var next []*patternNode
		if value.IsObject() {
			next = w.matcher.next(at, "f:"+part.Name())
		} else {
			named := w.named(value, part, at)
			next = slices.Concat(named.next, named.unclear)
		}
		rules = append(rules, w.rulesIn(part, next)...)
	}
	return inOrder(rules)
}

// named returns an element with its name.
func (w insideWalk) named(list, element *jsontree.Node, at []*patternNode) namedElement {
	named := namedElement{list: list, element: element}
	for _, n := range at {
		if !w.matcher.meter.Spend(1 + stepsPerName*len(n.named)) {
			break
		}
		named.follow(n)
	}
	return named
}

// stepsPerName is what it costs to name an element, in steps of the meter.
const stepsPerName = 64

// namedElement is an element of a list, with its name and where that leads to.
type namedElement struct {
	list, element *jsontree.Node

	name    fieldpath.PathElement
	next    []*patternNode
	unclear []*patternNode // after names that do not identify the element
}

// follow adds where patterns lead to: [name="a"], [name=*], [0] and [*], which identifies the only element.
func (e *namedElement) follow(n *patternNode) {
	for _, named := range n.named {
		name, ok := e.element.KeyOf(named.names)
		identifies := ok && e.list.Count(name) == 1
		e.add(name, named.any, identifies)
		if key, err := fieldpath.SerializePathElement(name); ok && err == nil {
			e.add(name, n.byKey[key], identifies)
		}
	}
	index := fieldpath.IndexElement(e.element.Index())
	e.add(index, n.byKey["i:"+strconv.Itoa(e.element.Index())], true)
	e.add(index, n.any, e.list.Len() == 1)
}

// add adds a name, if it leads anywhere. One by which users know the element goes before an index.
func (e *namedElement) add(name fieldpath.PathElement, to *patternNode, identifies bool) {
	switch {
	case to == nil:
	case !identifies:
		e.unclear = append(e.unclear, to)
	case len(e.next) == 0 || e.name.Index != nil:
		e.name = name
		fallthrough
	default:
		e.next = append(e.next, to)
	}
}

// add adds a field, which another object can have as well.
func (w insideWalk) add(path fieldpath.Path, field insideField) {
	if n := w.search.tree.Add(path); n != nil && w.search.inside[n] == nil {
		w.search.inside[n] = &field
	}
}

// rulesAt returns the accepted rules with a pattern that ends at one of the nodes.
func (w insideWalk) rulesAt(at []*patternNode) (rules []*Rule) {
	for _, n := range at {
		for _, end := range n.ends {
			if w.matcher.meter.Spend(1) && w.matcher.accepts(end) {
				rules = append(rules, end.rule)
			}
		}
	}
	return inOrder(rules)
}

// appended returns a path with another element. It never shares memory with another path.
func appended(path fieldpath.Path, element fieldpath.PathElement) fieldpath.Path {
	return append(path[:len(path):len(path)], element)
}

// fieldInside returns a contested field inside an atomic field; ok is false if no controller has written the atomic field, or if the
// manifest sets nothing of its kind.
func (s *search) fieldInside(n *fieldtree.Node, in *insideField) (c ContestedField, ok bool) {
	is, sent := s.inLive.Of(n), s.inIncoming.Of(n)
	if s.inIncoming.Of(in.atomic).Kind() != s.inLive.Of(in.atomic).Kind() {
		return c, false
	}
	c = ContestedField{Path: n.Path(), Atomic: in.atomic.Path(), Live: is.Text(), Incoming: sent.Text()}
	switch {
	case in.unmatched:
		c.Unmatched = notUnique
	case c.Changed() && !s.isMatched(n, in):
		c.Unmatched = notUniqueInManifest
	}
	c.Declared = s.declaredInside(in, c.Path, is, sent)
	c.Removed = c.Changed() && sent == nil
	c.Owner = s.ruledOwner(n, c, in.rules)
	s.applied.setEdited(&c, in.rules, s.inBase.Of(n).Text())
	return c, c.Owner.Kind >= Controller && (c.Unmatched == "" || c.Changed())
}

// isMatched reports whether the elements that a field is in have unique names in incoming as well, and no other element of live has
// the same counterpart there. An index names an element if both lists have the same length.
func (s *search) isMatched(n *fieldtree.Node, in *insideField) bool {
	for ; n != in.atomic; n = n.Parent() {
		list, element := s.inIncoming.Of(n.Parent()), s.inIncoming.Of(n)
		switch {
		case n.IsField() || element == nil:
		case n.Element.Index != nil && list.Len() != s.inLive.Of(n.Parent()).Len(), n.Element.Key != nil && list.Count(n.Element) > 1,
			s.counterparts()[element] != s.inLive.Of(n):
			return false
		}
	}
	return true
}

// counterparts returns the elements of live by those of incoming that have the same name, nil for one with several: rules can name
// elements by different fields.
func (s *search) counterparts() map[*jsontree.Node]*jsontree.Node {
	if s.matched != nil {
		return s.matched
	}
	s.matched = map[*jsontree.Node]*jsontree.Node{}
	for n, in := range s.inside {
		for ; n != in.atomic; n = n.Parent() {
			element, live := s.inIncoming.Of(n), s.inLive.Of(n)
			if n.IsField() || element == nil || live == nil {
				continue
			}
			if other, found := s.matched[element]; found && other != live {
				live = nil
			}
			s.matched[element] = live
		}
	}
	return s.matched
}

// declaredInside returns how the manifests declare a field inside an atomic field. Who sets the latter sets all that it contains.
func (s *search) declaredInside(in *insideField, path fieldpath.Path, live, incoming *jsontree.Node) Declared {
	m, atomic := s.write.Manifests, in.atomic.Path()
	switch {
	case m.sender.ServerSide():
		return Declared{Manifest: setsIf(incoming != nil && m.sender.Entry.Contains(atomic)), Base: setsIf(m.was.Contains(atomic))}
	case !m.Recorded:
		changed := !bytes.Equal(incoming.Text(), live.Text())
		return Declared{Manifest: setsIf(incoming != nil && (changed || m.gains(atomic)))}
	default:
		return m.On(path)
	}
}
