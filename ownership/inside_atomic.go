package ownership

import (
	"cmp"
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// Why elements of lists are not matched.
const (
	notUnique           = "list elements have no unique names"
	notUniqueInManifest = "list elements have no unique names in the manifest"
)

// addInside adds the fields inside atomic fields that rules name and that live has, and those to record that incoming has. A map of which
// an entry only contains the map itself is not atomic if another entry contains its keys.
func (s *Search) addInside() {
	if len(s.atomic) == 0 {
		return
	}
	w := s.write
	for _, e := range slices.Concat(w.LiveEntries, w.IncomingEntries) {
		s.tree.Managed(e.Fields, func(p fieldtree.Part) {
			if !fieldtree.IsLeaf(p.Subset) {
				delete(s.atomic, p.Node)
			}
		})
	}
	matcher := w.Managers.rules.matcher(w.Meter, func(*Rule) bool { return true })
	for _, n := range slices.Clone(s.tree.Nodes()) {
		m, isAtomic := s.atomic[n]
		if !isAtomic {
			continue
		}
		path := n.Path()
		at, _ := matcher.Follow(path)
		insideWalk{search: s, matcher: matcher, atomic: n, mark: m}.visit(path, w.Live.root.Find(path), at)
		if m &= recordedMark; m != 0 {
			insideWalk{search: s, matcher: matcher, atomic: n, mark: m}.visit(path, w.Incoming.root.Find(path), at)
		}
	}
}

// insideWalk finds the fields inside an atomic field.
type insideWalk struct {
	search  *Search
	matcher ruleMatcher
	atomic  *fieldtree.Node
	mark    mark // of the fields; only those of which a rule remembers the value are recorded
}

// visit adds the fields at or nested under a path to which patterns lead. If rules name something in a list element without a unique
// name, the list is added as well.
func (w insideWalk) visit(path fieldpath.Path, value *jsontree.Node, at []*ruleTree) {
	if rules := inOrder(w.matcher.Ending(at)); len(rules) > 0 && len(path) > w.atomic.Depth() {
		w.add(path, insideField{atomic: w.atomic, rules: rules})
		return
	}
	var unmatched []*Rule
	for part := range value.Parts() {
		s := w.step(value, part, at)
		if len(s.next) > 0 {
			w.visit(append(path[:len(path):len(path)], s.name), part, s.next)
		} else {
			unmatched = append(unmatched, w.rulesIn(part, s.unclear)...)
		}
	}
	if len(unmatched) > 0 {
		w.add(path, insideField{atomic: w.atomic, rules: inOrder(unmatched), unmatched: true})
	}
}

// rulesIn returns the rules that name something at or nested under a value to which patterns lead.
func (w insideWalk) rulesIn(value *jsontree.Node, at []*ruleTree) []*Rule {
	rules := inOrder(w.matcher.Ending(at))
	if len(rules) > 0 || len(at) == 0 {
		return rules
	}
	for part := range value.Parts() {
		s := w.step(value, part, at)
		rules = append(rules, w.rulesIn(part, slices.Concat(s.next, s.unclear))...)
	}
	return inOrder(rules)
}

// step is a step to a member or an element: its name, and where that leads to.
type step struct {
	name    fieldpath.PathElement
	next    []*ruleTree
	unclear []*ruleTree // after names that do not identify the element
}

// step follows the patterns to a member of an object, or to an element of a list: [name="a"], [name=*], [0] and [*], which identifies the
// only element.
func (w insideWalk) step(in, part *jsontree.Node, at []*ruleTree) (s step) {
	if in.IsObject() {
		return step{name: fieldpath.FieldNameElement(part.Name()), next: w.matcher.Next(at, "f:"+part.Name())}
	}
	index := fieldpath.IndexElement(part.Index())
	for _, n := range at {
		if !w.matcher.Meter.Spend(1 + stepsPerName*len(n.Named)) {
			break
		}
		for _, named := range n.Named {
			name, ok := part.KeyOf(named.Fields)
			identifies := ok && in.Count(name) == 1
			s.add(name, named.After(), identifies)
			if key, err := fieldpath.SerializePathElement(name); ok && err == nil {
				s.add(name, n.After(key), identifies)
			}
		}
		s.add(index, n.After("i:"+strconv.Itoa(part.Index())), true)
		s.add(index, n.AfterAny(), in.Len() == 1)
	}
	return s
}

// add adds a name, if it leads anywhere. One by which users know the element goes before an index.
func (s *step) add(name fieldpath.PathElement, to *ruleTree, identifies bool) {
	switch {
	case to == nil:
	case !identifies:
		s.unclear = append(s.unclear, to)
	case len(s.next) == 0 || s.name.Index != nil:
		s.name = name
		fallthrough
	default:
		s.next = append(s.next, to)
	}
}

// add adds a field, which another object can have as well.
func (w insideWalk) add(path fieldpath.Path, field insideField) {
	m := w.mark
	if field.unmatched || !slices.ContainsFunc(field.rules, (*Rule).remembers) {
		m &^= recordedMark
	}
	if n := w.search.tree.AddUnwanted(path); n != nil && m != 0 {
		w.search.mark(n, m)
		w.search.inside[n] = cmp.Or(w.search.inside[n], &field)
	}
}

// unmatched returns why the list elements that a field is in cannot be matched one to one between live and incoming, empty if they can.
// The API server allows several elements with the same key in some lists. Inside an atomic field, an index names an element if both
// lists have the same length, and no other element of live can have the same counterpart in incoming.
func (s *Search) unmatched(n *fieldtree.Node, isChanged bool) string {
	in := s.inside[n]
	if in != nil && in.unmatched {
		return notUnique
	}
	for ; n != nil && isChanged; n = n.Parent() {
		if in != nil && n == in.atomic {
			in = nil // from here, managedFields name the elements
		}
		if n.IsField() || s.inIncoming.Of(n) == nil {
			continue
		}
		list := s.inIncoming.Of(n.Parent())
		isUnclear := n.Element.Index != nil && list.Len() != s.inLive.Of(n.Parent()).Len()
		isShared := in != nil && (isUnclear || s.counterparts()[s.inIncoming.Of(n)] != s.inLive.Of(n))
		if isShared || n.Element.Key != nil && list.Count(n.Element) > 1 {
			return notUniqueInManifest
		}
	}
	return ""
}

// counterparts returns the elements of live by those of incoming that have the same name, nil for one with several: rules can name
// elements by different fields.
func (s *Search) counterparts() map[*jsontree.Node]*jsontree.Node {
	if s.matched != nil {
		return s.matched
	}
	s.matched = map[*jsontree.Node]*jsontree.Node{}
	for n, in := range s.inside {
		for ; n != in.atomic; n = n.Parent() {
			element, live := s.inIncoming.Of(n), s.inLive.Of(n)
			if other, found := s.matched[element]; found && other != live {
				live = nil
			}
			s.matched[element] = live
		}
	}
	return s.matched
}
