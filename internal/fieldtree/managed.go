package fieldtree

import (
	"errors"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// ErrElement is returned for a path element that cannot be parsed. It does not quote the element, which can contain a secret.
var ErrElement = errors.New("a path element cannot be parsed")

// Managed follows all paths through a field set of a managedFields entry (fieldsV1). It calls visit for each node whose path, or
// a path nested under it, is in the set, with the position of the subset under the node.
func (t *Tree) Managed(fields []byte, meter Meter, visit func(n *Node, start int)) {
	s := setText{text: fields, meter: meter}
	s.managed(rawjson.SkipSpace(fields, 0), &t.root, visit)
}

// setText is a fieldsV1 text that is read once, from front to back.
type setText struct {
	text  []byte
	meter Meter
	over  bool // the meter has stopped the work
}

func (s *setText) managed(i int, n *Node, visit func(*Node, int)) (end int) {
	if len(n.children) == 0 || s.over {
		return s.skip(i)
	}
	return s.each(i, func(key []byte, i int) (end int) {
		c := n.child(string(key))
		if c == nil {
			return s.skip(i)
		}
		visit(c, i)
		return s.managed(i, c, visit)
	})
}

// each calls visit for each member of the object at i, with its name and the start of its value; visit returns the end of the
// value. each returns the end of the object.
func (s *setText) each(i int, visit func(key []byte, i int) (end int)) (end int) {
	if i >= len(s.text) || s.text[i] != '{' || s.over {
		return s.skip(i)
	}
	for i = rawjson.SkipSpace(s.text, i+1); i < len(s.text) && s.text[i] == '"'; {
		key, steps, value := memberAt(s.text, i)
		s.over = s.over || !s.meter.spend(steps)
		if value < 0 {
			return len(s.text)
		}
		i = rawjson.SkipSpace(s.text, visit(key, value))
		if i < len(s.text) && s.text[i] == ',' {
			i = rawjson.SkipSpace(s.text, i+1)
		}
	}
	return min(i+1, len(s.text))
}

func (s *setText) skip(i int) (end int) {
	end = rawjson.Skip(s.text, i)
	s.over = s.over || !s.meter.spend(end-i)
	return end
}

// IsLeaf reports whether the set that starts at a position of a fieldsV1 text is empty or only contains its own path.
func IsLeaf(fields []byte, start int) bool {
	s := setText{text: fields}
	return s.isLeaf(start)
}

// isLeaf reports whether the set at i is empty or only contains its own path, which is written as a dot.
func (s *setText) isLeaf(i int) bool {
	if i >= len(s.text) || s.text[i] != '{' {
		return true
	}
	i = rawjson.SkipSpace(s.text, i+1)
	if i >= len(s.text) || s.text[i] != '"' {
		return true
	}
	end := rawjson.SkipString(s.text, i)
	if string(s.text[i:end]) != `"."` {
		return false
	}
	i = rawjson.SkipSpace(s.text, end)
	i = rawjson.Skip(s.text, rawjson.SkipSpace(s.text, min(i+1, len(s.text))))
	i = rawjson.SkipSpace(s.text, i)
	return i >= len(s.text) || s.text[i] != ','
}

// Matcher matches paths of a field set element by element. State is the state of the match after a prefix of a path.
type Matcher[State any] interface {
	// Start returns the state of the empty path.
	Start() State
	// Step returns the state after one more element, given as in the set (f:replicas). If ok is false, no path with this prefix
	// can match. If all is true, the field and everything nested under it matches.
	Step(s State, key string) (next State, all, ok bool)
}

// AddMatching adds the leaf fields of a set that match. The error is ErrElement.
func AddMatching[State any](t *Tree, fields []byte, m Matcher[State], meter Meter) error {
	a := adder[State]{tree: t, matcher: m, set: setText{text: fields, meter: meter}}
	a.add(rawjson.SkipSpace(fields, 0), &t.root, m.Start(), false)
	return a.err
}

// adder walks a set of fields and adds what matches.
type adder[State any] struct {
	tree    *Tree
	matcher Matcher[State]
	set     setText
	err     error
}

func (a *adder[State]) add(i int, into *Node, state State, all bool) (end int) {
	return a.set.each(i, func(key []byte, i int) (end int) {
		if string(key) == "." || a.err != nil || into.depth >= MaxDepth {
			return a.set.skip(i)
		}
		name, next, all, ok := string(key), state, all, true
		if !all {
			next, all, ok = a.matcher.Step(state, name)
		}
		leaf := a.set.isLeaf(i)
		if !ok || leaf && !all {
			return a.set.skip(i)
		}
		element, err := fieldpath.DeserializePathElement(name)
		if err != nil {
			a.err = ErrElement
			return a.set.skip(i)
		}
		n := a.tree.child(into, name, element)
		n.Wanted = n.Wanted || leaf
		return a.add(i, n, next, all)
	})
}

// Within returns a Matcher for the wanted paths of t and all paths nested under them.
func (t *Tree) Within() Matcher[*Node] { return within{t} }

type within struct{ tree *Tree }

func (w within) Start() *Node { return &w.tree.root }

func (w within) Step(n *Node, key string) (next *Node, all, ok bool) {
	c := n.child(key)
	return c, c != nil && c.Wanted, c != nil
}
