package threeway

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// step is one element of the path to the field at hand; cheap to make, and only made a PathElement when somebody asks.
type step struct {
	// name of a field.
	name string
	// element of a list: one of a keyed list where there are keys, else one of a set.
	element *node
	keys    []string
	// indexed says that it is an element without identity, at index.
	indexed bool
	index   int
}

func (m *merger) enter(s step) { m.steps = append(m.steps, s) }
func (m *merger) leave()       { m.steps = m.steps[:len(m.steps)-1] }

// path returns the path to the field at hand, which the caller may keep.
func (m *merger) path() fieldpath.Path {
	path := make(fieldpath.Path, len(m.steps))
	for i, s := range m.steps {
		path[i] = s.pathElement()
	}
	return path
}

func (s step) pathElement() fieldpath.PathElement {
	switch {
	case s.indexed:
		return fieldpath.IndexElement(s.index)
	case s.element == nil:
		return fieldpath.FieldNameElement(strings.Clone(s.name))
	case s.keys == nil:
		return fieldpath.ValueElement(s.element.scalar())
	}
	keys := make(value.FieldList, 0, len(s.keys))
	for _, name := range s.keys {
		if key := s.element.field(name, 0); key != nil {
			keys = append(keys, value.Field{Name: name, Value: key.scalar()})
		}
	}
	keys.Sort()
	return fieldpath.PathElement{Key: &keys}
}

// scalar returns a scalar as paths hold it.
func (n *node) scalar() value.Value {
	if n.kind == '"' {
		return value.NewValueInterface(strings.Clone(n.unquoted()))
	}
	text := n.text
	if n.decoded {
		text = n.number()
	}
	v, err := value.FromJSON([]byte(text))
	if err != nil {
		return value.NewValueInterface(nil)
	}
	return v
}
