package ownership

import (
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// patternTree is a node of a prefix tree of patterns, by which a field set is matched against all of them in one pass.
type patternTree struct {
	next  map[string]*patternTree // by the path element as managedFields encode it, or as wildcard returns it
	named []string                // the wildcards of the ways in which patterns name elements of a list, in their order
	ends  []patternEnd
}

// patternEnd is the end of a pattern.
type patternEnd struct {
	rule  *Rule // nil if the pattern is not one of a rule
	broad bool  // Pattern.isBroad
}

// anyElement is the key of a wildcard in a patternTree. The names of the fields that identify an element follow it, as in *name,port.
const anyElement = "*"

// add adds the patterns of a rule, nil if they are not those of one.
func (t *patternTree) add(rule *Rule, patterns ...Pattern) {
	for _, p := range patterns {
		n := t
		for _, matcher := range p {
			n = n.child(matcher)
		}
		if len(n.ends) == 0 || n.ends[len(n.ends)-1].rule != rule { // a rule can list a path twice
			n.ends = append(n.ends, patternEnd{rule, p.isBroad()})
		}
	}
}

// treeOf returns the tree of patterns that are not those of a rule.
func treeOf(patterns []Pattern) *patternTree {
	t := &patternTree{}
	t.add(nil, patterns...)
	return t
}

// addPath adds a path, which is not that of a rule.
func (t *patternTree) addPath(path fieldpath.Path) {
	for _, element := range path {
		t = t.child(fieldpath.PathElementMatcher{PathElement: element})
	}
	t.ends = append(t.ends, patternEnd{})
}

// child returns the node after another element of a pattern, which it adds if there is none.
func (t *patternTree) child(matcher fieldpath.PathElementMatcher) *patternTree {
	key := anyElement
	if matcher.Key != nil {
		names := make([]string, len(*matcher.Key))
		for i, field := range *matcher.Key {
			names[i] = field.Name
		}
		key += strings.Join(names, ",")
		if t.next[key] == nil {
			t.named = append(t.named, key)
			t.step(key)
		}
	}
	if !matcher.Wildcard {
		key, _ = fieldpath.SerializePathElement(matcher.PathElement) // a pattern that parses can be serialized
	}
	return t.step(key)
}

// step returns the node after a key, which it adds if there is none.
func (t *patternTree) step(key string) *patternTree {
	if t.next == nil {
		t.next = map[string]*patternTree{}
	}
	if t.next[key] == nil {
		t.next[key] = &patternTree{}
	}
	return t.next[key]
}

// after returns the node after a key, nil if no pattern leads on from there or ends there.
func (t *patternTree) after(key string) *patternTree {
	if n := t.next[key]; n != nil && len(n.next)+len(n.ends) > 0 {
		return n
	}
	return nil
}

// namesIn returns the names of the fields that identify an element, given the key of a wildcard.
func namesIn(wildcard string) []string { return strings.Split(wildcard[len(anyElement):], ",") }

// patternMatcher matches paths element by element (fieldtree.AddMatching). Its state is the nodes that the path so far leads to.
type patternMatcher struct {
	start []*patternTree
	// accepts reports whether a pattern that ends here matches; nil accepts all.
	accepts func(patternEnd) bool
	meter   Meter
}

func (m patternMatcher) step(at []*patternTree, key string) (next []*patternTree, all, ok bool) {
	next = m.next(at, key)
	if slices.ContainsFunc(next, m.ends) {
		return nil, true, true
	}
	return next, false, len(next) > 0
}

// next returns the nodes to which one more element leads, as managedFields encode it, also if a pattern ends there.
func (m patternMatcher) next(at []*patternTree, key string) (next []*patternTree) {
	if !m.meter.Spend(len(at)) {
		return nil
	}
	follow := func(n *patternTree, key string) {
		if to := n.after(key); to != nil {
			next = append(next, to)
		}
	}
	for _, n := range at {
		follow(n, key)
		follow(n, anyElement)
		for _, wildcard := range n.named {
			if strings.HasPrefix(key, "k:") {
				follow(n, wildcard)
			}
		}
	}
	return next
}

func (m patternMatcher) ends(n *patternTree) bool {
	return slices.ContainsFunc(n.ends, func(end patternEnd) bool { return m.meter.Spend(1) && (m.accepts == nil || m.accepts(end)) })
}

// follow returns where a path leads to, and the rules with a pattern that matches it or one of its parents, in their order.
func (m patternMatcher) follow(path fieldpath.Path) (at []*patternTree, rules []*Rule) {
	at = m.start
	for n := 0; n < len(path) && len(at) > 0; n++ {
		key, err := fieldpath.SerializePathElement(path[n])
		if err != nil {
			return nil, inOrder(rules)
		}
		at = m.next(at, key)
		rules = append(rules, m.rulesAt(at)...)
	}
	return at, inOrder(rules)
}

// rulesAt returns the accepted rules with a pattern that ends at one of the nodes, in their order.
func (m patternMatcher) rulesAt(at []*patternTree) (rules []*Rule) {
	for _, n := range at {
		for _, end := range n.ends {
			if m.meter.Spend(1) && m.accepts(end) {
				rules = append(rules, end.rule)
			}
		}
	}
	return inOrder(rules)
}
