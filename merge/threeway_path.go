package merge

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// The reasons of an InputError, for errors.Is.
var (
	// ErrWrongKind: a value is of another kind than the schema declares.
	ErrWrongKind = errors.New("the value is of the wrong kind")
	// ErrNoKey: an element of a keyed list lacks a key.
	ErrNoKey = errors.New("the element lacks the key of its list")
	// ErrDuplicate: two elements of a keyed list have the same keys, or a set has a value twice.
	ErrDuplicate = errors.New("the list has the element twice")
	// ErrDirective: the manifest holds a directive of strategic merge patches.
	ErrDirective = errors.New("the field is a patch directive, not part of an object")
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

// wrong returns the error of an input at the path at hand.
func (m *merger) wrong(input string, reason error, detail string, args ...any) error {
	return &InputError{Input: input, Path: m.path(), Err: fmt.Errorf("%w: "+detail, append([]any{reason}, args...)...)}
}

// check says whether a value is of the kind that the schema declares.
func (m *merger) check(input string, n *node, holds Kind) error {
	var ok bool
	switch holds {
	case HoldsObject:
		ok = n.kind == '{'
	case HoldsList:
		ok = n.kind == '['
	case HoldsScalar:
		ok = n.kind != '{' && n.kind != '['
	default:
		ok = n.kind != 0
	}
	if ok || n.kind == 'n' {
		return nil
	}
	return m.wrong(input, ErrWrongKind, "it is %s", n.kindName())
}
