package ownership

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// patternTree is a prefix tree of patterns, by which a field set is matched against all of them in one pass. A nil tree has none.
type patternTree struct {
	root     patternNode
	patterns []Pattern
}

type patternNode struct {
	byKey map[string]*patternNode // by the path element as managedFields encode it
	any   *patternNode            // after a wildcard
	end   bool                    // of a pattern
}

func newPatternTree(patterns []Pattern) *patternTree {
	if len(patterns) == 0 {
		return nil
	}
	t := &patternTree{patterns: patterns}
	for _, p := range patterns {
		t.add(p)
	}
	return t
}

// start returns where the empty path leads to.
func (t *patternTree) start() []*patternNode {
	if t == nil {
		return nil
	}
	return []*patternNode{&t.root}
}

func (t *patternTree) add(p Pattern) {
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
	n.end = true
}

// patternMatcher is a fieldtree.Matcher. Its state is the nodes that the path so far leads to.
type patternMatcher struct {
	tree  *patternTree
	meter Meter
}

func (m patternMatcher) Start() []*patternNode { return m.tree.start() }

func (m patternMatcher) Step(at []*patternNode, key string) (next []*patternNode, all, ok bool) {
	if !m.meter.Spend(len(at)) {
		return nil, false, false
	}
	for _, n := range at {
		for _, to := range []*patternNode{n.byKey[key], n.any} {
			if to == nil {
				continue
			}
			if to.end {
				return nil, true, true
			}
			next = append(next, to)
		}
	}
	return next, false, len(next) > 0
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
