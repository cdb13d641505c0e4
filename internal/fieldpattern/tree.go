package fieldpattern

import (
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// Tree is a node of a prefix tree of patterns, by which a field set is matched against all of them in one pass. Each pattern is that of
// something, such as a rule.
type Tree[Of comparable] struct {
	next map[string]*Tree[Of] // by the path element as managedFields encode it, or as wildcard returns it
	// Named are the ways in which patterns name the elements of a list here, in their order.
	Named []Named[Of]
	ends  []End[Of]
}

// Named is a way to name the elements of a list: by the values of fields.
type Named[Of comparable] struct {
	Fields []string
	after  *Tree[Of]
}

// After returns the node after a wildcard for the fields, nil if no pattern has one.
func (n Named[Of]) After() *Tree[Of] { return n.after.leading() }

// End is the end of a pattern.
type End[Of comparable] struct {
	Of    Of
	Broad bool // Pattern.IsBroad
}

// anyElement is the key of a wildcard in a Tree. The names of the fields that identify an element follow it, as in *name,port.
const anyElement = "*"

// Add adds patterns of something, and returns the tree.
func (t *Tree[Of]) Add(of Of, patterns ...Pattern) *Tree[Of] {
	for _, p := range patterns {
		n := t
		for _, matcher := range p {
			n = n.child(matcher)
		}
		if len(n.ends) == 0 || n.ends[len(n.ends)-1].Of != of { // a rule can list a path twice
			n.ends = append(n.ends, End[Of]{of, p.IsBroad()})
		}
	}
	return t
}

// PatternOf returns the pattern that matches a path.
func PatternOf(path fieldpath.Path) (p Pattern) {
	for _, element := range path {
		p = append(p, fieldpath.PathElementMatcher{PathElement: element})
	}
	return p
}

// child returns the node after another element of a pattern, which it adds if there is none.
func (t *Tree[Of]) child(matcher fieldpath.PathElementMatcher) *Tree[Of] {
	key := anyElement
	if matcher.Key != nil {
		names := make([]string, len(*matcher.Key))
		for i, field := range *matcher.Key {
			names[i] = field.Name
		}
		key += strings.Join(names, ",")
		if t.next[key] == nil {
			t.Named = append(t.Named, Named[Of]{names, t.step(key)})
		}
	}
	if !matcher.Wildcard {
		key, _ = fieldpath.SerializePathElement(matcher.PathElement) // a pattern that parses can be serialized
	}
	return t.step(key)
}

// step returns the node after a key, which it adds if there is none.
func (t *Tree[Of]) step(key string) *Tree[Of] {
	if t.next == nil {
		t.next = map[string]*Tree[Of]{}
	}
	if t.next[key] == nil {
		t.next[key] = &Tree[Of]{}
	}
	return t.next[key]
}

// After returns the node after a path element as managedFields encode it, nil if no pattern leads on from there or ends there.
func (t *Tree[Of]) After(key string) *Tree[Of] { return t.next[key].leading() }

// AfterAny returns the node after a wildcard without names of fields, nil if there is none.
func (t *Tree[Of]) AfterAny() *Tree[Of] { return t.After(anyElement) }

func (t *Tree[Of]) leading() *Tree[Of] {
	if t == nil || len(t.next)+len(t.ends) == 0 {
		return nil
	}
	return t
}

// Matcher matches paths element by element (fieldtree.AddMatching). Its state is the nodes that the path so far leads to.
type Matcher[Of comparable] struct {
	Start []*Tree[Of]
	// Accepts reports whether a pattern that ends here matches; nil accepts all.
	Accepts func(End[Of]) bool
	Meter   jsontree.Meter
}

// Step is the step of fieldtree.AddMatching.
func (m Matcher[Of]) Step(at []*Tree[Of], key string) (next []*Tree[Of], all, ok bool) {
	next = m.Next(at, key)
	if slices.ContainsFunc(next, func(n *Tree[Of]) bool { return slices.ContainsFunc(n.ends, m.accepts) }) {
		return nil, true, true
	}
	return next, false, len(next) > 0
}

// stepsPerNamed is what it costs to follow a wildcard with names of fields.
const stepsPerNamed = 8

// Next returns the nodes to which one more element leads, as managedFields encode it, also if a pattern ends there.
func (m Matcher[Of]) Next(at []*Tree[Of], key string) (next []*Tree[Of]) {
	for _, n := range at {
		next = append(next, n.After(key), n.AfterAny())
		if !m.Meter.Spend(1 + stepsPerNamed*len(n.Named)) {
			return nil
		}
		for _, named := range n.Named {
			if strings.HasPrefix(key, "k:") {
				next = append(next, named.After())
			}
		}
	}
	return slices.DeleteFunc(next, func(n *Tree[Of]) bool { return n == nil })
}

// accepts reports whether a pattern matches. If the meter ends the work, none does.
func (m Matcher[Of]) accepts(end End[Of]) bool {
	return m.Meter.Spend(1) && (m.Accepts == nil || m.Accepts(end))
}

// Follow returns where a path leads to, and what the patterns are of that match it or one of its parents, in the order of the path.
func (m Matcher[Of]) Follow(path fieldpath.Path) (at []*Tree[Of], matched []Of) {
	at = m.Start
	for n := 0; n < len(path) && len(at) > 0; n++ {
		key, err := fieldpath.SerializePathElement(path[n])
		if err != nil {
			return nil, matched
		}
		at = m.Next(at, key)
		matched = append(matched, m.Ending(at)...)
	}
	return at, matched
}

// Ending returns what the accepted patterns are of that end at one of the nodes.
func (m Matcher[Of]) Ending(at []*Tree[Of]) (matched []Of) {
	for _, n := range at {
		for _, end := range n.ends {
			if m.accepts(end) {
				matched = append(matched, end.Of)
			}
		}
	}
	return matched
}
