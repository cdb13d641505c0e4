package jsonnode

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Path is the path to the field that a merge is at. Its steps are converted only when the path is needed.
type Path []Step

// Step is an element of a path.
type Step struct {
	// Name is the name of a field.
	Name string
	// Element is an element of a list: of a keyed list if there are Keys, else of a set.
	Element  *Node
	Keys     []string
	Defaults map[string]string
	// IsIndex reports whether the step is a list element named by Index.
	IsIndex bool
	Index   int
}

// Enter adds a step. A merge that fails leaves the path as it is, which is that of the error.
func (p *Path) Enter(s Step) { *p = append(*p, s) }

// Leave removes the last step.
func (p *Path) Leave() { *p = (*p)[:len(*p)-1] }

// FieldPath returns the path. It does not refer to the inputs.
func (p *Path) FieldPath() fieldpath.Path {
	path := make(fieldpath.Path, len(*p))
	for i := range *p {
		path[i] = (*p)[i].pathElement()
	}
	return path
}

func (s *Step) pathElement() fieldpath.PathElement {
	switch {
	case s.IsIndex:
		return fieldpath.IndexElement(s.Index)
	case s.Element == nil:
		return fieldpath.FieldNameElement(strings.Clone(s.Name))
	case s.Keys == nil:
		return fieldpath.ValueElement(s.Element.Scalar())
	}
	keys := make(value.FieldList, 0, len(s.Keys))
	for _, name := range s.Keys {
		if key := s.Element.Key(name, s.Defaults); key != nil && !key.IsContainer() {
			keys = append(keys, value.Field{Name: name, Value: key.Scalar()})
		}
	}
	keys.Sort()
	return fieldpath.PathElement{Key: &keys}
}
