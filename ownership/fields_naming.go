package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// naming is how claims name the elements of a list.
type naming struct {
	keys   [][]string // the names of a key's fields, for each sort of key
	values bool       // some are named by their value
}

func namingOf(names []fieldpath.PathElement) (n naming) {
	for _, name := range names {
		if name.Value != nil {
			n.values = true
		}
		if name.Key == nil || slices.ContainsFunc(n.keys, func(fields []string) bool { return isKeyOf(*name.Key, fields) }) {
			continue
		}
		fields := make([]string, 0, len(*name.Key))
		for _, field := range *name.Key {
			fields = append(fields, field.Name)
		}
		n.keys = append(n.keys, fields)
	}
	return n
}

func isKeyOf(key value.FieldList, fields []string) bool {
	return slices.EqualFunc(key, fields, func(f value.Field, name string) bool { return f.Name == name })
}

// aliases returns every name that claims may use for an element, its index last.
func (n naming) aliases(element *outline, index int) []fieldpath.PathElement {
	var aliases []fieldpath.PathElement
	for _, fields := range n.keys {
		if key, ok := keyOf(element, fields); ok {
			aliases = append(aliases, key)
		}
	}
	if n.values {
		if v, err := value.FromJSON(element.text); err == nil {
			aliases = append(aliases, fieldpath.ValueElement(v))
		}
	}
	return append(aliases, fieldpath.IndexElement(index))
}

// same returns the name by which an element of the live list is found in the manifest's: its first alias or, where claims
// use none but the index, a field called name, as structured-merge-diff guesses it (AssociativeListCandidateFieldNames).
func same(element *outline, aliases []fieldpath.PathElement) fieldpath.PathElement {
	if len(aliases) == 1 {
		if key, ok := keyOf(element, []string{"name"}); ok {
			return key
		}
	}
	return aliases[0]
}

// keyOf returns the key that an element's fields make; ok is false where it lacks one of them. A port's protocol may be
// missing, as Locate has it.
func keyOf(element *outline, fields []string) (key fieldpath.PathElement, ok bool) {
	if !element.isObject() || len(fields) == 0 {
		return key, false
	}
	list := make(value.FieldList, 0, len(fields))
	for _, name := range fields {
		text := []byte(`"TCP"`)
		switch field := element.member(name); {
		case field != nil && len(field.kids) == 0:
			text = field.text
		case field != nil || name != "protocol":
			return key, false
		}
		v, err := value.FromJSON(text)
		if err != nil {
			return key, false
		}
		list = append(list, value.Field{Name: name, Value: v})
	}
	return fieldpath.PathElement{Key: &list}, true
}

// declarations finds the parts of a container of the manifest by the names of the live object's.
type declarations struct {
	members  map[string]*outline
	elements []declaration
}

type declaration struct {
	name fieldpath.PathElement
	part *outline
}

// in lists the parts of the manifest's container, which may be nil. Of members that share a name the last one counts.
func (n naming) in(container *outline) (d declarations) {
	switch {
	case container == nil || len(container.kids) == 0:
	case container.isObject():
		d.members = make(map[string]*outline, len(container.kids))
		for i := range container.kids {
			d.members[container.kids[i].name] = &container.kids[i]
		}
	default:
		for i := range container.kids {
			part := &container.kids[i]
			d.elements = append(d.elements, declaration{name: same(part, n.aliases(part, i)), part: part})
		}
		slices.SortStableFunc(d.elements, func(a, b declaration) int { return a.name.Compare(b.name) })
	}
	return d
}

// of returns what the manifest has of a part of the live container, nil where it has nothing.
func (d declarations) of(part *outline, aliases []fieldpath.PathElement) *outline {
	if len(d.elements) == 0 {
		return d.find(aliases[0])
	}
	return d.find(same(part, aliases))
}

// find returns the part of that name, the first of several, or nil.
func (d declarations) find(name fieldpath.PathElement) *outline {
	if name.FieldName != nil {
		return d.members[*name.FieldName]
	}
	i, ok := slices.BinarySearchFunc(d.elements, name, func(e declaration, name fieldpath.PathElement) int {
		return e.name.Compare(name)
	})
	if !ok {
		return nil
	}
	return d.elements[i].part
}
