package jsontree

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Member returns the member of an object with a name, nil if there is none.
func (n *Node) Member(name string) *Node {
	parts := n.list()
	if len(parts) == 0 || parts[0].nameEnd == 0 {
		return nil
	}
	if len(parts) <= fewParts {
		for i := range parts {
			if parts[i].isNamed(name) {
				return &parts[i]
			}
		}
		return nil
	}
	return n.inside.member(name)
}

// At returns the value at a path of names, nil if there is none.
func (n *Node) At(names ...string) *Node {
	for _, name := range names {
		n = n.Member(name)
	}
	return n
}

// Find returns the value at a path, nil if there is none: field names lead through objects; keys, values and indexes through lists.
// A key matches the first element whose fields have the key's values. A name with dots is that of a nested field, unless a field has this
// name. A missing key field has the API server's default, which only the protocol of a port has (KeyDefault).
func (n *Node) Find(path fieldpath.Path) *Node {
	found, length := n.Nearest(path)
	if length < len(path) {
		return nil
	}
	return found
}

// Nearest returns the value to which the longest part of a path leads that exists, and the length of this part.
func (n *Node) Nearest(path fieldpath.Path) (nearest *Node, length int) {
	for i, element := range path {
		child := n.Child(element)
		if child == nil || i == MaxDepth {
			return n, i
		}
		n = child
	}
	return n, len(path)
}

// Child returns the member or element that a path element means, nil if there is none.
func (n *Node) Child(element fieldpath.PathElement) *Node {
	if element.FieldName != nil {
		return n.Member(*element.FieldName)
	}
	if n.Kind() != '[' {
		return nil
	}
	parts := n.list()
	switch {
	case len(parts) == 0:
		return nil
	case element.Index != nil:
		if i := *element.Index; i >= 0 && i < len(parts) {
			return &parts[i]
		}
		return nil
	case element.Value == nil && (element.Key == nil || len(*element.Key) == 0):
		return nil
	default:
		names, values := keyOf(element)
		return n.inside.element(names, values).first
	}
}

// Lacks returns the fields of a set that the value does not have. It makes no paths: those of n fields with a long parent have n times its
// length.
func (n *Node) Lacks(set *fieldpath.Set) *fieldpath.Set {
	lacks := fieldpath.NewSet()
	for element := range set.Members.All() {
		if n.Child(element) == nil {
			lacks.Members.Insert(element)
		}
	}
	for element := range set.Children.All() {
		inside, _ := set.Children.Get(element)
		if missing := n.Child(element).Lacks(inside); !missing.Empty() {
			*lacks.Children.Descend(element) = *missing
		}
	}
	return lacks
}

// Count returns how many elements of a list a key or value means: with duplicates, Child returns the first of them.
func (n *Node) Count(element fieldpath.PathElement) int {
	if n.Kind() != '[' || n.Len() == 0 {
		return 0
	}
	names, values := keyOf(element)
	return n.inside.element(names, values).count
}

// maxKey is the maximum length of a value that identifies an element: with many names, long ones would be read many times.
const maxKey = 1 << 10

// KeyOf returns the path element that identifies an element of a list by the values of fields; ok is false if the element lacks one of
// them, or it is not a scalar, or too long.
func (n *Node) KeyOf(names []string) (element fieldpath.PathElement, ok bool) {
	keys := make(value.FieldList, len(names))
	for i, name := range names {
		text := n.keyField(name)
		if len(text) > maxKey {
			return element, false
		}
		if _, ok := scalarIn(text); !ok {
			return element, false
		}
		is, err := value.FromJSON(text)
		if err != nil {
			return element, false
		}
		keys[i] = value.Field{Name: name, Value: is}
	}
	return fieldpath.PathElement{Key: &keys}, true
}

// keyField returns the value of a key field as JSON, nil if there is none.
func (n *Node) keyField(name string) []byte {
	field := n.Member(name)
	if outer, inner, nested := strings.Cut(name, "."); field == nil && nested {
		for field = n.Member(outer); field != nil && nested; field = field.Member(outer) {
			outer, inner, nested = strings.Cut(inner, ".")
		}
	}
	if field == nil {
		return KeyDefault(name)
	}
	return field.Text()
}

// keyOf returns the names of a path element's key fields, nil for a value, and the values as in Node.key.
func keyOf(element fieldpath.PathElement) (names []string, values string) {
	if element.Value != nil {
		return nil, scalarOf(*element.Value)
	}
	var scalars []string
	for _, field := range *element.Key {
		names, scalars = append(names, field.Name), append(scalars, scalarOf(field.Value))
	}
	return names, strings.Join(scalars, ",")
}

// Like returns the first element of a list with the same name as another element, nil if there is none. example shows by what
// elements are named: by its key fields or by their values. ok is false if the other element has no such name.
func (n *Node) Like(other *Node, example fieldpath.PathElement) (like *Node, ok bool) {
	names, _ := keyOf(example)
	values, ok := other.key(names)
	if !ok || n.Kind() != '[' || n.Len() == 0 {
		return nil, ok
	}
	return n.inside.element(names, values).first, true
}

// KeyDefault returns the value, as JSON, of a key field that a list's element lacks, nil if there is none. Only the protocol of a port has
// one (k8s.io/api/core/v1, ServicePort).
func KeyDefault(name string) []byte {
	if name == "protocol" {
		return []byte(`"TCP"`)
	}
	return nil
}

// isNamed reports whether a member has a name. It does not decode names that are too long or too short: an escaped byte takes up to
// six bytes.
func (n *Node) isNamed(name string) bool {
	quoted := int(n.nameEnd-n.name) - len(`""`)
	return quoted >= len(name) && quoted <= 6*len(name) && string(n.NameBytes()) == name
}

// fewParts is up to how many members are compared one by one.
const fewParts = 8

// lookups finds the parts of a large object or a list.
type lookups struct {
	// byName are the members whose names have no escapes, sorted: a map takes ten times the memory. escaped are the others.
	byName  []*Node
	escaped map[string]*Node
	// byKey are the elements by the names of key fields, and then by the values of these fields; without names, by their own values.
	byKey map[string]map[string]elements
}

// elements are those of a list with the same key.
type elements struct {
	first *Node
	count int
}

// member returns the member with a name, nil if there is none.
func (p *parts) member(name string) *Node {
	if p.lookups == nil {
		p.lookups = newNames(p.list)
	}
	i, found := slices.BinarySearchFunc(p.lookups.byName, []byte(name), func(n *Node, to []byte) int { return bytes.Compare(n.quoted(), to) })
	if found {
		return p.lookups.byName[i]
	}
	return p.lookups.escaped[name]
}

func newNames(members []Node) *lookups {
	l := &lookups{byName: make([]*Node, 0, len(members)), escaped: map[string]*Node{}}
	for i := range members {
		if n := &members[i]; bytes.IndexByte(n.quoted(), '\\') < 0 {
			l.byName = append(l.byName, n)
		} else {
			l.escaped[n.Name()] = n
		}
	}
	slices.SortFunc(l.byName, func(a, b *Node) int { return bytes.Compare(a.quoted(), b.quoted()) })
	return l
}

// quoted returns the text between the quotes of a member's name.
func (n *Node) quoted() []byte { return n.doc().text[n.name+1 : n.nameEnd-1] }

// element returns the elements of a list with the values of the named key fields or, without names, with a value.
func (p *parts) element(names []string, values string) elements {
	if p.lookups == nil {
		p.lookups = &lookups{byKey: map[string]map[string]elements{}}
	}
	shape := strings.Join(names, ",")
	found, ok := p.lookups.byKey[shape]
	if !ok {
		if !p.of.meter.Spend(int(p.parent.end - p.parent.start)) {
			return elements{}
		}
		found = map[string]elements{}
		for i := range p.list {
			if key, ok := p.list[i].key(names); ok {
				same := found[key]
				found[key] = elements{cmp.Or(same.first, &p.list[i]), same.count + 1}
			}
		}
		if !p.of.meter.Spend(0) {
			return elements{} // some elements may not have been read
		}
		p.lookups.byKey[shape] = found
	}
	return found[values]
}

// key returns the values of an element's key fields or, without names, its own value.
func (n *Node) key(names []string) (key string, ok bool) {
	if names == nil {
		return scalarIn(n.Text())
	}
	values := make([]string, len(names))
	for i, name := range names {
		if values[i], ok = scalarIn(n.keyField(name)); !ok {
			return "", false
		}
	}
	return strings.Join(values, ","), true
}

// scalarIn returns a text that is equal for the JSON of two scalars if value.Equals is true for them.
func scalarIn(text []byte) (scalar string, ok bool) {
	switch {
	case len(text) == 0 || text[0] == '{' || text[0] == '[':
		return "", false
	case text[0] == '"':
		return strconv.Quote(string(unquote(text))), true
	default:
		v, err := value.FromJSON(text)
		if err != nil {
			return "", false
		}
		return scalarOf(v), true
	}
}

// scalarOf is scalarIn for a value.
func scalarOf(v value.Value) string {
	switch {
	case v == nil || v.IsNull():
		return ""
	case v.IsString():
		return strconv.Quote(v.AsString())
	default:
		return value.ToString(v)
	}
}
