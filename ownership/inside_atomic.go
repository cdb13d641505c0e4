package ownership

import (
	"bytes"
	"cmp"
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
	// unmatched is why the elements of a list, which is then the field, do not have names of their own.
	unmatched string
}

// isAtomic records a leaf of an entry that a rule leads into.
func (s *search) isAtomic(n *fieldtree.Node) { s.atomic[n] = true }

func anyRule(*Rule) bool { return true }

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
			w.visit(path, o.root.Find(path), matcher.at(path), true)
		}
	}
}

// insideWalk finds the fields inside an atomic field.
type insideWalk struct {
	search  *search
	matcher patternMatcher
	atomic  *fieldtree.Node
}

// visit adds the fields at or nested under a path to which patterns lead, and reports whether there are any. Without add, it only looks.
func (w insideWalk) visit(path fieldpath.Path, value *jsontree.Node, at []*patternNode, add bool) (found bool) {
	if rules := w.rulesAt(at); len(rules) > 0 && len(path) > w.atomic.Depth() {
		if add {
			w.add(path, insideField{atomic: w.atomic, rules: rules})
		}
		return true
	}
	if value.Kind() == '[' {
		return w.visitElements(path, value, at, add)
	}
	for part := range value.Parts() {
		next := w.matcher.next(at, "f:"+part.Name())
		if len(next) > 0 && w.visit(appended(path, fieldpath.FieldNameElement(part.Name())), part, next, add) {
			found = true
		}
	}
	return found
}

// visitElements is visit for a list. If a field that a rule names is in an element without a name of its own, the list is added instead.
func (w insideWalk) visitElements(path fieldpath.Path, list *jsontree.Node, at []*patternNode, add bool) (found bool) {
	unmatched := false
	for element := range list.Parts() {
		named := namedElement{list: list, element: element}
		for _, n := range at {
			if !w.matcher.meter.Spend(1 + stepsPerName*len(n.named)) {
				return false
			}
			named.follow(n)
		}
		switch {
		case len(named.next) > 0:
			found = w.visit(appended(path, named.name), element, named.next, add) || found
		case len(named.unclear) > 0 && w.visit(appended(path, fieldpath.IndexElement(element.Index())), element, named.unclear, false):
			unmatched = true
		}
	}
	if unmatched && add {
		w.add(path, insideField{atomic: w.atomic, unmatched: "its elements have no different names"})
	}
	return found || unmatched
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

// add adds a field. If two objects have it, its rules are those of both.
func (w insideWalk) add(path fieldpath.Path, field insideField) {
	n := w.search.tree.Add(path)
	if n == nil {
		return
	}
	if is := w.search.inside[n]; is != nil {
		is.unmatched = cmp.Or(is.unmatched, field.unmatched)
		return
	}
	w.search.inside[n] = &field
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
	c = ContestedField{Path: n.Path(), Atomic: in.atomic.Path(), Live: is.Text(), Incoming: sent.Text(), Unmatched: in.unmatched}
	if c.Unmatched == "" && c.Changed() && !s.isMatched(n, in) {
		c.Unmatched = "elements of the manifest have no different names"
	}
	s.managers[n.ID] = s.managers[in.atomic.ID]
	c.Declared = s.declaredInside(in, c.Path, is, sent)
	c.Removed = c.Changed() && sent == nil
	rules := in.rules
	if in.unmatched != "" {
		rules = s.context.Managers.rules.rules
	}
	c.Owner = s.ruledOwner(n, c, rules)
	s.applied.setEdited(&c, rules, s.inBase.Of(n).Text())
	return c, c.Owner.Kind >= Controller && (c.Unmatched == "" || c.Changed())
}

// isMatched reports whether the elements that a field is in have names of their own in incoming as well. An index names an element if
// both lists have the same length.
func (s *search) isMatched(n *fieldtree.Node, in *insideField) bool {
	for ; n != in.atomic; n = n.Parent() {
		list := s.inIncoming.Of(n.Parent())
		switch {
		case n.IsField() || list == nil:
		case n.Element.Index != nil && list.Len() != s.inLive.Of(n.Parent()).Len(), n.Element.Key != nil && list.Count(n.Element) > 1:
			return false
		}
	}
	return true
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
