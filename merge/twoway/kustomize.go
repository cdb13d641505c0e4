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
	k := kyamlTypes{unknown: &Inferred{ReplaceLists: true}, types: map[string]*schema.Declared{}, kinds: map[string]*schema.Declared{}}
	k.types["-"], k.types["?"] = &schema.Declared{}, &schema.Declared{Unknown: k.unknown}
	k.types["-"].Unknown = k.types["-"]
	var current *schema.Declared
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
	types   map[string]*schema.Declared
	kinds   map[string]*schema.Declared
}

func (k kyamlTypes) addType(line string) *schema.Declared {
	name, kinds, _ := strings.Cut(line, ": ")
	t := k.typeOf(name)
	if kinds != "" {
		for kind := range strings.SplitSeq(kinds, ", ") {
			k.kinds[kind] = t
		}
	}
	return t
}

func (k kyamlTypes) addField(t *schema.Declared, line string) {
	name, target, _ := strings.Cut(line, " ")
	place := k.typeOf(target)
	if list, ok := strings.CutPrefix(target, "["); ok {
		keys, element, _ := strings.Cut(list, "] ")
		place = &schema.Declared{Unknown: k.unknown, Merges: schema.Strategy{List: schema.MergeSet}, Elements: k.typeOf(element)}
		if keys != "" {
			place.Merges = schema.Strategy{List: schema.MergeByKey, Keys: strings.Split(keys, ",")}
		}
	}
	if t.Fields == nil {
		t.Fields = map[string]*schema.Declared{}
	}
	if name == "*" {
		name = ""
	}
	t.Fields[name] = place
}

// typeOf returns the type of that name, which may be declared later in the file.
func (k kyamlTypes) typeOf(name string) *schema.Declared {
	t, ok := k.types[name]
	if !ok {
		t = &schema.Declared{Unknown: k.unknown}
		k.types[name] = t
		if value, ok := strings.CutPrefix(name, "{"); ok {
			t.Fields = map[string]*schema.Declared{"": k.typeOf(strings.TrimSuffix(value, "}"))}
		}
	}
	return t
}
