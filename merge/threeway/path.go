package threeway

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// step is an element of the path to the current field. It is converted to a PathElement only when a path is needed.
type step struct {
	// name of a field.
	name string
	// element of a list: of a keyed list if there are keys, else of a set.
	element  *node
	keys     []string
	defaults map[string]string
	// indexed reports whether it is a list element named by index.
	indexed bool
	index   int
}

// elementStep is the step to an element of a keyed list or a set.
func elementStep(element *node, strategy schema.Strategy) step {
	return step{element: element, keys: strategy.Keys, defaults: strategy.Defaults}
}

func (m *merger) enter(s step) { m.steps = append(m.steps, s) }
func (m *merger) leave()       { m.steps = m.steps[:len(m.steps)-1] }

// within calls do with the path of a step within the current field.
func (m *merger) within(s step, do func() error) error {
	m.enter(s)
	err := do()
	m.leave()
	return err
}

// path returns the path to the current field. It does not refer to the inputs.
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
		return fieldpath.ValueElement(s.element.Scalar())
	}
	keys := make(value.FieldList, 0, len(s.keys))
	for _, name := range s.keys {
		if key := s.element.Key(name, s.defaults); key != nil {
			keys = append(keys, value.Field{Name: name, Value: key.Scalar()})
		}
	}
	keys.Sort()
	return fieldpath.PathElement{Key: &keys}
}
