package schema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Types compiles the schemas of Go types and caches them by type. The zero value is ready to use. Its methods are safe for
// concurrent use.
type Types struct {
	mu     sync.Mutex
	fields map[reflect.Type]map[string]*Declared
}

// Of returns the schema of a Go type of k8s.io/api, given a value of the type or a pointer to one, such as
// &appsv1.Deployment{}. It reads the tags patchStrategy and patchMergeKey as k8s.io/apimachinery/pkg/util/strategicpatch does.
// For a type with its own JSON encoding, it uses only the patchStrategy of the field that has the type.
func (t *Types) Of(object any) Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.compile(reflect.TypeOf(object), "", "")
}

// compile compiles a type, given the patchStrategy and patchMergeKey tags of the field that has the type.
func (t *Types) compile(typ reflect.Type, strategies, key string) *Declared {
	if typ == nil {
		return &Declared{}
	}
	typ = indirect(typ)
	strategy := Strategy{Object: objectStrategy(strategies)}
	if hasOwnEncoding(typ) {
		return &Declared{Merges: strategy}
	}
	switch typ.Kind() {
	case reflect.Struct, reflect.Map:
		strategy.Kind = ObjectKind
		return &Declared{Merges: strategy, Fields: t.fieldsOf(typ), FoldsCase: typ.Kind() == reflect.Struct}
	case reflect.Slice, reflect.Array:
		if typ.Elem().Kind() == reflect.Uint8 {
			return &Declared{Merges: Strategy{Kind: ScalarKind}} // base64
		}
		return t.list(typ, strategies, key)
	case reflect.Interface:
		return &Declared{}
	default:
		return &Declared{Merges: Strategy{Kind: ScalarKind}}
	}
}

// list compiles a list. The field's strategy retainKeys applies to the elements.
func (t *Types) list(typ reflect.Type, strategies, key string) *Declared {
	list := &Declared{Merges: Strategy{Kind: ListKind}, Elements: t.compile(typ.Elem(), strategies, "")}
	switch kind := list.Elements.Merges.Kind; {
	case !has(strategies, "merge"):
	case kind == ScalarKind:
		list.Merges.List = MergeSet
	case kind == ObjectKind && key != "":
		list.Merges.List, list.Merges.Keys = MergeByKey, []string{key}
	}
	return list
}

// fieldsOf compiles the fields of a struct or a map. A recursive type refers to its own fields before they are complete. That
// is safe, because they are not read before compilation ends.
func (t *Types) fieldsOf(typ reflect.Type) map[string]*Declared {
	if done, ok := t.fields[typ]; ok {
		return done
	}
	if t.fields == nil {
		t.fields = map[reflect.Type]map[string]*Declared{}
	}
	fields := map[string]*Declared{}
	t.fields[typ] = fields
	if typ.Kind() == reflect.Map {
		fields[""] = t.compile(typ.Elem(), "", "")
	} else {
		t.addFields(fields, typ)
	}
	return fields
}

// addFields adds a struct's own fields, then those of its inline structs. As in encoding/json, an outer field hides an inner
// field of the same name.
func (t *Types) addFields(fields map[string]*Declared, typ reflect.Type) {
	var inline []reflect.Type
	for i := range typ.NumField() {
		field := typ.Field(i)
		tag := field.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		if tag == "-" || !field.IsExported() && !field.Anonymous {
			continue
		}
		if inner := indirect(field.Type); field.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			inline = append(inline, inner)
			continue
		}
		if name == "" {
			name = field.Name
		}
		if _, hidden := fields[name]; !hidden {
			fields[name] = t.compile(field.Type, field.Tag.Get("patchStrategy"), field.Tag.Get("patchMergeKey"))
		}
	}
	for _, inner := range inline {
		t.addFields(fields, inner)
	}
}

func objectStrategy(strategies string) ObjectStrategy {
	switch {
	case has(strategies, "replace"):
		return ReplaceObject
	case has(strategies, "retainKeys"):
		return RetainKeys
	default:
		return MergeFields
	}
}

// has reports whether a patchStrategy tag, a comma-separated list, contains a strategy.
func has(strategies, strategy string) bool {
	return slices.Contains(strings.Split(strategies, ","), strategy)
}

// hasOwnEncoding reports whether a type implements its own JSON encoding, as Quantity, Time and RawExtension do.
func hasOwnEncoding(typ reflect.Type) bool {
	pointer := reflect.PointerTo(typ)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func indirect(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ
}
