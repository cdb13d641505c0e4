package ownership

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// patternTree is a prefix tree of patterns, by which a field set is matched against all of them in one pass.
type patternTree struct{ root patternNode }

type patternNode struct {
	byKey map[string]*patternNode // by the path element as managedFields encode it
	any   *patternNode            // after a wildcard
	ends  []patternEnd

	// named are the ways in which the patterns name elements of a list, in their order and by their names.
	named   []*elementNames
	byNames map[string]*elementNames
}

// elementNames are the names of the fields that identify an element, as in [name=*] and [name="a"].
type elementNames struct {
	names []string
	any   *patternNode // after a wildcard with these names, nil if there is none
}

// patternEnd is the end of a pattern.
type patternEnd struct {
	rule  *Rule // nil if the pattern is not one of a rule
	broad bool  // Pattern.isBroad
}

func newPatternTree(patterns []Pattern) *patternTree {
	t := &patternTree{}
	for _, p := range patterns {
		t.add(p, nil)
	}
	return t
}

// start returns where the empty path leads to.
func (t *patternTree) start() []*patternNode { return []*patternNode{&t.root} }

func (t *patternTree) addRule(rule *Rule) {
	for _, p := range rule.Fields {
		t.add(p, rule)
	}
}

func (t *patternTree) add(p Pattern, rule *Rule) {
	n := &t.root
	for _, matcher := range p {
		if n = n.child(matcher); n == nil {
			return
		}
	}
	if last := len(n.ends) - 1; last < 0 || n.ends[last].rule != rule { // a rule can list a path twice
		n.ends = append(n.ends, patternEnd{rule, p.isBroad()})
	}
}

// child returns the node after another element of a pattern, which it adds if there is none; nil for one that cannot be encoded.
func (n *patternNode) child(matcher fieldpath.PathElementMatcher) *patternNode {
	if matcher.Key != nil {
		named := n.namedBy(*matcher.Key)
		if matcher.Wildcard {
			named.any = cmp.Or(named.any, &patternNode{})
			return named.any
		}
	}
	if matcher.Wildcard {
		n.any = cmp.Or(n.any, &patternNode{})
		return n.any
	}
	key, err := fieldpath.SerializePathElement(matcher.PathElement)
	if err != nil {
		return nil
	}
	if n.byKey == nil {
		n.byKey = map[string]*patternNode{}
	}
	n.byKey[key] = cmp.Or(n.byKey[key], &patternNode{})
	return n.byKey[key]
}

// namedBy returns the names of a key, which it adds if they are new.
func (n *patternNode) namedBy(key value.FieldList) *elementNames {
	names := make([]string, len(key))
	for i, field := range key {
		names[i] = field.Name
	}
	joined := strings.Join(names, ",")
	if named := n.byNames[joined]; named != nil {
		return named
	}
	if n.byNames == nil {
		n.byNames = map[string]*elementNames{}
	}
	named := &elementNames{names: names}
	n.named, n.byNames[joined] = append(n.named, named), named
	return named
}

// patternMatcher is a fieldtree.Matcher. Its state is the nodes that the path so far leads to.
type patternMatcher struct {
	start []*patternNode
	// accepts reports whether a pattern that ends here matches; nil accepts all.
	accepts func(patternEnd) bool
	meter   Meter
}

func (m patternMatcher) Start() []*patternNode { return m.start }

func (m patternMatcher) Step(at []*patternNode, key string) (next []*patternNode, all, ok bool) {
	next = m.next(at, key)
	if slices.ContainsFunc(next, m.ends) {
		return nil, true, true
	}
	return next, false, len(next) > 0
}

// next returns the nodes to which one more element leads, also if a pattern ends there.
func (m patternMatcher) next(at []*patternNode, key string) (next []*patternNode) {
	if !m.meter.Spend(len(at)) {
		return nil
	}
	for _, n := range at {
		next = slices.AppendSeq(next, n.after(key))
	}
	return next
}

// after returns the nodes to which a path element leads, as managedFields encode it.
func (n *patternNode) after(key string) iter.Seq[*patternNode] {
	return func(yield func(*patternNode) bool) {
		if to := n.byKey[key]; to != nil && !yield(to) || n.any != nil && !yield(n.any) || !strings.HasPrefix(key, "k:") {
			return
		}
		for _, named := range n.named {
			if named.any != nil && !yield(named.any) {
				return
			}
		}
	}
}

func (m patternMatcher) ends(n *patternNode) bool {
	for _, end := range n.ends {
		if !m.meter.Spend(1) {
			return false
		}
		if m.accepts == nil || m.accepts(end) {
			return true
		}
	}
	return false
}

// at returns where a path leads to.
func (m patternMatcher) at(path fieldpath.Path) []*patternNode {
	at := m.Start()
	for _, element := range path {
		key, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return nil
		}
		at = m.next(at, key)
	}
	return at
}

// covers reports whether a pattern matches the field at path or one of its parents.
func (m patternMatcher) covers(path fieldpath.Path) bool {
	at := m.Start()
	for _, element := range path {
		key, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return false
		}
		next, all, ok := m.Step(at, key)
		if all || !ok {
			return all
		}
		at = next
	}
	return false
}
