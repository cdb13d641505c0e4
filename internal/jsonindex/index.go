// Package jsonindex finds many fields of one JSON text. It reads each part of the text once, however many paths lead into it.
package jsonindex

import (
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// Index is an index of a JSON text. It finds the same fields as ownership.Object. It is not safe for concurrent use.
type Index struct{ root *node }

// node is a value of the text. Its members or elements are listed at the first lookup.
type node struct {
	text    []byte
	in      *node
	pointer string

	listed bool
	parts  []*node
	spans  []rawjson.Span // of the parts; the span of a member includes its name
	// members are the parts of an object by name. keyed are the parts of a list, by the names of key fields and then by the values
	// of these fields.
	members map[string]*node
	keyed   map[string]map[string]*node
	// gone marks a node that is cut, changed a node with such a part.
	gone, changed bool
	cut           int
}

// New returns the index of a text, which must be valid JSON and must not change.
func New(text []byte) *Index { return &Index{&node{text: text}} }

// Value returns the text of the field at a path, nil if there is none.
func (x *Index) Value(path fieldpath.Path) []byte {
	if found := x.find(path); found != nil && len(path) > 0 {
		return found.text
	}
	return nil
}

// Pointer returns the JSON pointer (RFC 6901) of the field at a path; ok is false if there is none.
func (x *Index) Pointer(path fieldpath.Path) (pointer string, ok bool) {
	if found := x.find(path); found != nil {
		return found.pointer, true
	}
	return "", false
}

func (x *Index) find(path fieldpath.Path) *node {
	at := x.root
	for _, element := range path {
		if at = at.part(element); at == nil {
			return nil
		}
	}
	return at
}

func (n *node) list() {
	if n.listed {
		return
	}
	n.listed = true
	n.members = map[string]*node{}
	rawjson.Members(n.text, func(name, value rawjson.Span) bool {
		plain := string(rawjson.Name(name.Of(n.text)))
		part := n.add(value, rawjson.Span{Start: name.Start, End: value.End}, rawjson.EscapePointer(plain))
		if n.members[plain] == nil {
			n.members[plain] = part
		}
		return true
	})
	rawjson.Elements(n.text, func(value rawjson.Span) bool {
		n.add(value, value, strconv.Itoa(len(n.parts)))
		return true
	})
}

func (n *node) add(inner, whole rawjson.Span, step string) *node {
	part := &node{text: inner.Of(n.text), in: n, pointer: n.pointer + "/" + step}
	n.parts, n.spans = append(n.parts, part), append(n.spans, whole)
	return part
}

func (n *node) part(element fieldpath.PathElement) *node {
	n.list()
	switch {
	case element.FieldName != nil:
		return n.members[*element.FieldName]
	case len(n.members) > 0:
		return nil
	case element.Index != nil:
		if *element.Index < 0 || *element.Index >= len(n.parts) {
			return nil
		}
		return n.parts[*element.Index]
	case element.Value != nil:
		return n.by(nil)[scalarText(*element.Value)]
	case element.Key != nil:
		names := make([]string, len(*element.Key))
		values := make([]string, len(*element.Key))
		for i, field := range *element.Key {
			names[i], values[i] = field.Name, scalarText(field.Value)
		}
		return n.by(names)[strings.Join(values, ",")]
	default:
		return nil
	}
}

// by returns the elements of a list by the values of the named fields or, without names, by their own values. If several elements
// are equal, it returns the first.
func (n *node) by(names []string) map[string]*node {
	sort := strings.Join(names, ",")
	if n.keyed[sort] != nil {
		return n.keyed[sort]
	}
	elements := make(map[string]*node, len(n.parts))
	for _, part := range n.parts {
		key, ok := part.key(names)
		if ok && elements[key] == nil {
			elements[key] = part
		}
	}
	if n.keyed == nil {
		n.keyed = map[string]map[string]*node{}
	}
	n.keyed[sort] = elements
	return elements
}

// key returns the values of an element's key fields, with their defaults (rawjson.KeyDefault).
func (n *node) key(names []string) (key string, ok bool) {
	if names == nil {
		v, err := value.FromJSON(n.text)
		return scalarText(v), err == nil
	}
	values := make([]string, len(names))
	for i, name := range names {
		text := rawjson.Find(n.text, name).Of(n.text)
		if text == nil {
			text = rawjson.KeyDefault(name)
		}
		v, err := value.FromJSON(text)
		if text == nil || err != nil {
			return "", false
		}
		values[i] = scalarText(v)
	}
	return strings.Join(values, ","), true
}

// scalarText returns a text that is equal for two values if value.Equals is true for them.
func scalarText(v value.Value) string {
	if v == nil {
		return ""
	}
	return value.ToString(v)
}
