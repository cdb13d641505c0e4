package ownership

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// patternTree is a prefix tree of patterns, by which a field set is matched against all of them in one pass.
type patternTree struct{ root patternNode }

type patternNode struct {
	byKey map[string]*patternNode // by the path element as managedFields encode it
	any   *patternNode            // after a wildcard
	ends  []patternEnd
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
		if matcher.Wildcard {
			if n.any == nil {
				n.any = &patternNode{}
			}
			n = n.any
			continue
		}
		key, err := fieldpath.SerializePathElement(matcher.PathElement)
		if err != nil {
			return
		}
		if n.byKey == nil {
			n.byKey = map[string]*patternNode{}
		}
		if n.byKey[key] == nil {
			n.byKey[key] = &patternNode{}
		}
		n = n.byKey[key]
	}
	if last := len(n.ends) - 1; last < 0 || n.ends[last].rule != rule { // a rule can list a path twice
		n.ends = append(n.ends, patternEnd{rule, p.isBroad()})
	}
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
	if !m.meter.Spend(len(at)) {
		return nil, false, false
	}
	for _, n := range at {
		for _, to := range []*patternNode{n.byKey[key], n.any} {
			if to == nil {
				continue
			}
			if m.ends(to) {
				return nil, true, true
			}
			next = append(next, to)
		}
	}
	return next, false, len(next) > 0
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
