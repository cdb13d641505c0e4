package twoway

import (
	_ "embed"
	"strings"

	"github.com/ownership-handoff/handoff/merge/schema"
)

//go:generate go test . -run TestTheKustomizeSchemaIsKyamls -update

// kustomizeSchema is what kyaml's OpenAPI documents say of lists. A line without indent is a type, behind the colon the
// kinds that it describes. An indented line is a field that is no scalar, and its type: [keys] for a keyed list and [] for a
// set, before the type of the elements; - for a type under which nothing merges by key, ? for an object of which nothing is
// known, {type} for a map.
//
//go:embed kustomize_schema.txt
var kustomizeSchema string

// Kustomize returns the schema by which kustomize merges patches: that of the kinds which kyaml v0.21.1 knows (Kubernetes
// v1.21 and kustomize's own); lists of all other kinds are replaced. For kustomize's order of elements the merge needs
// Options{Order: ManifestFirst} as well.
//
// Each call reads the schema anew: keep the result.
func Kustomize() schema.Schema {
	k := kyamlTypes{unknown: &Inferred{ReplaceLists: true}, types: map[string]*kyamlType{}, kinds: map[string]*kyamlType{}}
	k.types["-"], k.types["?"] = &kyamlType{leaf: true}, &kyamlType{unknown: k.unknown}
	var current *kyamlType
	for line := range strings.Lines(kustomizeSchema) {
		line = strings.TrimSuffix(line, "\n")
		if field, ok := strings.CutPrefix(line, " "); ok {
			k.addField(current, field)
		} else {
			current = k.addType(line)
		}
	}
	k.unknown.ByKind = func(apiVersion, kind string) schema.Schema {
		if known, ok := k.kinds[apiVersion+" "+kind]; ok {
			return known
		}
		return nil
	}
	return k.unknown
}

// kyamlTypes are the types of kustomizeSchema while they are read.
type kyamlTypes struct {
	unknown *Inferred
	types   map[string]*kyamlType
	kinds   map[string]*kyamlType
}

func (k kyamlTypes) addType(line string) *kyamlType {
	name, kinds, _ := strings.Cut(line, ": ")
	t := k.typeOf(name)
	if kinds != "" {
		for kind := range strings.SplitSeq(kinds, ", ") {
			k.kinds[kind] = t
		}
	}
	return t
}

func (k kyamlTypes) addField(t *kyamlType, line string) {
	name, target, _ := strings.Cut(line, " ")
	place := k.typeOf(target)
	if list, ok := strings.CutPrefix(target, "["); ok {
		keys, element, _ := strings.Cut(list, "] ")
		place = &kyamlType{unknown: k.unknown, strategy: schema.Strategy{List: schema.MergeSet}, element: k.typeOf(element)}
		if keys != "" {
			place.strategy = schema.Strategy{List: schema.MergeByKey, Keys: strings.Split(keys, ",")}
		}
	}
	if t.fields == nil {
		t.fields = map[string]*kyamlType{}
	}
	t.fields[name] = place
}

// typeOf returns the type of that name, which may be described further down.
func (k kyamlTypes) typeOf(name string) *kyamlType {
	t, ok := k.types[name]
	if !ok {
		t = &kyamlType{unknown: k.unknown}
		k.types[name] = t
		if value, ok := strings.CutPrefix(name, "{"); ok {
			t.fields = map[string]*kyamlType{"*": k.typeOf(strings.TrimSuffix(value, "}"))}
		}
	}
	return t
}

// kyamlType is a place in an object of a kind that kyaml knows.
type kyamlType struct {
	strategy schema.Strategy
	fields   map[string]*kyamlType
	element  *kyamlType
	unknown  *Inferred
	leaf     bool
}

// Field implements schema.Schema.
func (t *kyamlType) Field(name string) schema.Schema {
	field, ok := t.fields[name]
	if !ok {
		field, ok = t.fields["*"]
	}
	switch {
	case ok:
		return field
	case t.leaf:
		return t
	default:
		return t.unknown
	}
}

// Element implements schema.Schema.
func (t *kyamlType) Element() schema.Schema {
	switch {
	case t.element != nil:
		return t.element
	case t.leaf:
		return t
	default:
		return t.unknown
	}
}

// Strategy implements schema.Schema.
func (t *kyamlType) Strategy() schema.Strategy { return t.strategy }
