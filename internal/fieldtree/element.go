package fieldtree

import (
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// elements describes how the children of a node identify elements of a list.
type elements struct {
	node   *Node
	shapes []value.FieldList // one key for each set of field names
	values bool
	index  bool
}

// fewShapes is up to how many sets of field names are compared one by one.
const fewShapes = 4

func elementsOf(n *Node) elements {
	e := elements{node: n}
	var seen map[string]bool // of more than fewShapes
	for _, c := range n.children {
		switch {
		case c.Element.Index != nil:
			e.index = true
		case c.Element.Value != nil:
			e.values = true
		case c.Element.Key != nil && !e.isShape(*c.Element.Key, seen):
			if e.shapes = append(e.shapes, *c.Element.Key); len(e.shapes) > fewShapes {
				if seen == nil {
					seen = map[string]bool{}
				}
				seen[namesOf(*c.Element.Key)] = true
			}
		}
	}
	return e
}

// isShape reports whether there is a shape with the field names of a key: among the first fewShapes, or those seen since.
func (e elements) isShape(key value.FieldList, seen map[string]bool) bool {
	for i := range min(fewShapes, len(e.shapes)) {
		if sameNames(key, e.shapes[i]) {
			return true
		}
	}
	return seen != nil && seen[namesOf(key)]
}

func sameNames(a, b value.FieldList) bool {
	return slices.EqualFunc(a, b, func(x, y value.Field) bool { return x.Name == y.Name })
}

func namesOf(key value.FieldList) string {
	var names []byte
	for _, field := range key {
		names = append(strconv.AppendQuote(names, field.Name), ',')
	}
	return string(names)
}

// element returns the child that matches the list element at i, nil if none does.
func (f *finder) element(i, index int, e elements) *Node {
	if e.index {
		if c := e.node.child("i:" + strconv.Itoa(index)); c != nil {
			return c
		}
	}
	if f.over || !e.values && len(e.shapes) == 0 {
		return nil
	}
	text := f.text[i:f.skip(i)]
	if e.values && len(text) > 0 && text[0] != '{' && text[0] != '[' {
		if c := f.withValue(text, e.node); c != nil {
			return c
		}
	}
	for _, shape := range e.shapes {
		if c := f.withKey(text, shape, e.node); c != nil {
			return c
		}
	}
	return nil
}

// withValue returns the child for the element of a set.
func (f *finder) withValue(text []byte, n *Node) *Node {
	if IsCanonical(text) {
		f.key = append(append(f.key[:0], "v:"...), text...)
		return n.childNamed(f.key)
	}
	v, err := value.FromJSON(text)
	if err != nil {
		return nil
	}
	return n.childFor(fieldpath.ValueElement(v))
}

// withKey returns the child whose key has the same field names as another key, and the values that the element has there.
func (f *finder) withKey(text []byte, shape value.FieldList, n *Node) *Node {
	f.values = f.values[:0]
	canonical := len(shape) > 0
	for _, field := range shape {
		if f.over = f.over || !f.meter.spend(1+len(text)/4); f.over {
			return nil
		}
		found := rawjson.Find(text, field.Name).Of(text)
		if found == nil {
			if found = rawjson.KeyDefault(field.Name); found == nil {
				return nil
			}
		}
		if found[0] == '{' || found[0] == '[' {
			return nil
		}
		f.values = append(f.values, found)
		canonical = canonical && IsCanonical(found) && isPlain(field.Name)
	}
	if !canonical {
		return n.childFor(keyElement(shape, f.values))
	}
	f.key = append(f.key[:0], "k:"...)
	separator := byte('{')
	for i, field := range shape {
		f.key = append(append(append(f.key, separator, '"'), field.Name...), `":`...)
		f.key = append(f.key, f.values[i]...)
		separator = ','
	}
	f.key = append(f.key, '}')
	return n.childNamed(f.key)
}

// keyElement returns the path element of a key with the given values, which are JSON; the zero element if one is invalid.
func keyElement(shape value.FieldList, values [][]byte) fieldpath.PathElement {
	key := make(value.FieldList, 0, len(shape))
	for i, field := range shape {
		v, err := value.FromJSON(values[i])
		if err != nil {
			return fieldpath.PathElement{}
		}
		key = append(key, value.Field{Name: field.Name, Value: v})
	}
	return fieldpath.PathElement{Key: &key}
}

func (n *Node) childFor(element fieldpath.PathElement) *Node {
	key, err := fieldpath.SerializePathElement(element)
	if err != nil {
		return nil
	}
	return n.child(key)
}

// childNamed is child for a key that must not be retained.
func (n *Node) childNamed(key []byte) *Node {
	if n.byKey != nil {
		return n.byKey[string(key)]
	}
	for _, c := range n.children {
		if c.key == string(key) {
			return c
		}
	}
	return nil
}

// maxDigits is how many digits every int64 can have.
const maxDigits = 18

// IsCanonical reports whether a scalar is written as managedFields write it: a string without escapes, or an integer without a
// leading zero. Other scalars may be canonical too.
func IsCanonical(text []byte) bool {
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		return isPlain(text[1 : len(text)-1])
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0 && len(text) <= maxDigits && (text[0] != '0' || len(text) == 1)
}

// isPlain reports whether a string is ASCII without characters that an encoder of JSON escapes.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
