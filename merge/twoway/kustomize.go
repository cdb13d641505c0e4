package twoway

import (
	_ "embed"
	"strings"

	"github.com/ownership-handoff/handoff/merge/schema"
)

//go:generate go test . -run TestKustomizeSchemaFileEqualsKyaml -update

// kustomizeSchema describes the lists in kyaml's OpenAPI documents. A line without indentation is the name of a type, followed
// by a colon and the kinds of that type. An indented line is a field that is not a scalar, followed by its type. A type is one
// of these:
//   - a name
//   - "[keys] type" for a keyed list and "[] type" for a set of elements of a type
//   - "{type}" for a map
//   - "-" for a type under which no list merges
//   - "?" for an object of unknown type
//
//go:embed kustomize_schema.txt
var kustomizeSchema string

// Kustomize returns the schema that kustomize uses to merge patches. It describes the kinds in kyaml v0.21.1 (Kubernetes v1.21
// and kustomize's own); lists of all other kinds are replaced. To get the order of elements that kustomize uses, set
// Options.Order to ManifestFirst.
//
// Each call parses the schema again, so callers should reuse the result.
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

// kyamlTypes are the types of kustomizeSchema while it is parsed.
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

// typeOf returns the type of that name, which may be declared later in the file.
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

// kyamlType is the schema of a field in a kind that kyaml knows.
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
