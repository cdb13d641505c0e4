package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// naming is how managedFields name the elements of a list.
type naming struct {
	keys   [][]string // the names of the key fields, for each different key
	values bool       // whether they name elements by value
}

// namingOf returns the naming that a list's path elements use.
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

// isKeyOf reports whether a key has exactly the key fields.
func isKeyOf(key value.FieldList, fields []string) bool {
	return slices.EqualFunc(key, fields, func(f value.Field, name string) bool { return f.Name == name })
}

// aliases returns every path element that managedFields may use for a list's element, its index last.
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

// matchBy returns the path element by which an element of the live list is matched with the manifest's: its first alias. If
// that is the index, it is the field called name, if there is one, as structured-merge-diff guesses
// (AssociativeListCandidateFieldNames).
func matchBy(element *outline, aliases []fieldpath.PathElement) fieldpath.PathElement {
	if len(aliases) == 1 {
		if key, ok := keyOf(element, []string{"name"}); ok {
			return key
		}
	}
	return aliases[0]
}

// keyOf returns the key of an element for its key fields; ok is false if it lacks one of them. A missing protocol counts as
// TCP, as in Object.Locate.
func keyOf(element *outline, fields []string) (key fieldpath.PathElement, ok bool) {
	if !element.isObject() || len(fields) == 0 {
		return key, false
	}
	list := make(value.FieldList, 0, len(fields))
	for _, name := range fields {
		text := jsontree.KeyDefault(name)
		switch field := element.member(name); {
		case field != nil && len(field.children) == 0:
			text = field.text
		case field != nil || text == nil:
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

// declarations finds the members of a manifest's object, or the elements of a manifest's list.
type declarations struct {
	members  map[string]*outline
	elements []declaration // sorted by name
}

type declaration struct {
	name  fieldpath.PathElement
	value *outline
}

// declarationsIn returns the declarations in a value of the manifest, which may be nil. If members share a name, the last wins.
func (n naming) declarationsIn(parent *outline) (d declarations) {
	switch {
	case parent == nil || len(parent.children) == 0:
	case parent.isObject():
		d.members = make(map[string]*outline, len(parent.children))
		for i := range parent.children {
			d.members[parent.children[i].name] = &parent.children[i]
		}
	default:
		for i := range parent.children {
			element := &parent.children[i]
			d.elements = append(d.elements, declaration{name: matchBy(element, n.aliases(element, i)), value: element})
		}
		slices.SortStableFunc(d.elements, func(a, b declaration) int { return a.name.Compare(b.name) })
	}
	return d
}

// of returns the manifest's value for a live value with these aliases, nil if the manifest lacks it.
func (d declarations) of(live *outline, aliases []fieldpath.PathElement) *outline {
	if len(d.elements) == 0 {
		return d.find(aliases[0])
	}
	return d.find(matchBy(live, aliases))
}

// find returns the value with a name, the first of several, or nil.
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
	return d.elements[i].value
}
