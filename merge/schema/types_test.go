package schema_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/merge/schema"
)

func TestTypesEqualStrategicPatchLookups(t *testing.T) {
	var types schema.Types
	walk := schemaWalk{t: t, seen: map[reflect.Type]bool{}}
	for gvk, typ := range clientgoscheme.Scheme.AllKnownTypes() {
		if gvk.Version == "__internal" {
			continue
		}
		walk.fields(typ, types.Of(reflect.New(typ).Interface()))
	}
	walk.fields(reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](), types.Of(&apiextensionsv1.CustomResourceDefinition{}))
	t.Logf("%d fields of %d types", walk.compared, len(walk.seen))
	if walk.compared < 4000 {
		t.Errorf("only %d fields compared", walk.compared)
	}
}

// schemaWalk visits all fields of a type and of the types nested under it.
type schemaWalk struct {
	t        *testing.T
	seen     map[reflect.Type]bool
	compared int
}

func (w *schemaWalk) fields(typ reflect.Type, place schema.Schema) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || w.seen[typ] || place.Strategy().Kind != schema.ObjectKind {
		return
	}
	w.seen[typ] = true
	for _, name := range jsonNames(typ) {
		w.field(typ, name, place.Field(name))
	}
}

func (w *schemaWalk) field(typ reflect.Type, name string, got schema.Schema) {
	upstream := strategicpatch.PatchMetaFromStruct{T: typ}
	sub, meta, err := upstream.LookupPatchMetadataForStruct(name)
	if err != nil {
		w.t.Errorf("%s: upstream does not know %s: %v", typ, name, err)
		return
	}
	w.compared++
	held := indirect(goType(sub))
	strategies := meta.GetPatchStrategies()
	want := got.Strategy()
	switch want.Kind {
	case schema.ObjectKind:
		want.Object = objectStrategy(strategies)
		if held.Kind() == reflect.Map {
			w.fields(held.Elem(), got.Field("any"))
		} else {
			w.fields(held, got)
		}
	case schema.ListKind:
		element, _, err := upstream.LookupPatchMetadataForSlice(name)
		if err != nil {
			w.t.Errorf("%s: upstream does not take %s for a list: %v", typ, name, err)
			return
		}
		want.List, want.Keys = listStrategy(strategies, meta.GetPatchMergeKey())
		if want.List == schema.MergeByKey && got.Element().Strategy().Object != objectStrategy(strategies) {
			w.t.Errorf("%s.%s: elements merge as %v", typ, name, got.Element().Strategy())
		}
		w.fields(goType(element), got.Element())
	default:
		if joined := strings.Join(strategies, ""); joined != "" {
			w.t.Errorf("%s.%s: a %s with the strategy %s", typ, name, held, joined)
		}
		if (held.Kind() == reflect.Struct || held.Kind() == reflect.Map || held.Kind() == reflect.Slice && held.Elem().Kind() != reflect.Uint8) &&
			!reflect.PointerTo(held).Implements(reflect.TypeFor[json.Marshaler]()) {
			w.t.Errorf("%s.%s: a %s is no scalar", typ, name, held)
		}
	}
	if diff := cmp.Diff(want, got.Strategy()); diff != "" {
		w.t.Errorf("%s.%s (-upstream +handoff):\n%s", typ, name, diff)
	}
}

func goType(meta strategicpatch.LookupPatchMeta) reflect.Type {
	of, ok := meta.(strategicpatch.PatchMetaFromStruct)
	if !ok {
		panic("strategicpatch knows a type by something else than its struct")
	}
	return of.T
}

func objectStrategy(strategies []string) schema.ObjectStrategy {
	switch {
	case slices.Contains(strategies, "replace"):
		return schema.ReplaceObject
	case slices.Contains(strategies, "retainKeys"):
		return schema.RetainKeys
	default:
		return schema.MergeFields
	}
}

func listStrategy(strategies []string, key string) (schema.ListStrategy, []string) {
	switch {
	case !slices.Contains(strategies, "merge"):
		return schema.ReplaceList, nil
	case key == "":
		return schema.MergeSet, nil
	default:
		return schema.MergeByKey, []string{key}
	}
}

// jsonNames returns the names of a struct's fields, those of the structs that are written inline among them.
func jsonNames(typ reflect.Type) []string {
	var names []string
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name != "":
			names = append(names, name)
		case field.Anonymous:
			names = append(names, jsonNames(indirect(field.Type))...)
		}
	}
	return names
}

func indirect(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ
}

func TestFieldMatchesNamesLikeEncodingJSON(t *testing.T) {
	var types schema.Types
	crd := types.Of(&apiextensionsv1.CustomResourceDefinition{})
	props := crd.Field("spec").Field("versions").Element().Field("schema").Field("openAPIV3Schema")
	for name, c := range map[string]struct {
		place schema.Schema
		want  schema.Strategy
	}{
		"a name that differs in case only": {crd.Field("SPEC").Field("Versions"), schema.Strategy{Kind: schema.ListKind}},
		"a recursive type, deep inside":    {props.Field("not").Field("not").Field("properties").Field("x").Field("x-kubernetes-validations"), schema.Strategy{Kind: schema.ListKind, List: schema.MergeByKey, Keys: []string{"rule"}}},
		"a type that writes its own JSON":  {props.Field("default").Field("anything"), schema.Strategy{}},
		"an undeclared field":              {crd.Field("nonsense").Element(), schema.Strategy{}},
	} {
		t.Run(name, func(t *testing.T) {
			expect.Equal(t, "strategy", c.want, c.place.Strategy())
		})
	}
}
