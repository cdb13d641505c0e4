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
	mu       sync.Mutex
	compiled map[reflect.Type]*fields
}

// Of returns the schema of a Go type of k8s.io/api, given a value of the type or a pointer to one, such as
// &appsv1.Deployment{}. It reads the tags patchStrategy and patchMergeKey as k8s.io/apimachinery/pkg/util/strategicpatch does.
// For a type with its own JSON encoding, it uses only the patchStrategy of the field that has the type.
func (t *Types) Of(object any) Schema {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.place(reflect.TypeOf(object), "", "")
}

// place compiles a type, given the patchStrategy and patchMergeKey tags of the field that has the type.
func (t *Types) place(typ reflect.Type, strategies, key string) *place {
	if typ == nil {
		return &place{}
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if hasOwnEncoding(typ) {
		return &place{strategy: Strategy{Object: objectStrategy(strategies)}}
	}
	switch typ.Kind() {
	case reflect.Struct, reflect.Map:
		return &place{strategy: Strategy{Kind: ObjectKind, Object: objectStrategy(strategies)}, fields: t.fieldsOf(typ)}
	case reflect.Slice, reflect.Array:
		if typ.Elem().Kind() == reflect.Uint8 {
			return &place{strategy: Strategy{Kind: ScalarKind}} // base64
		}
		return t.list(typ, strategies, key)
	case reflect.Interface:
		return &place{}
	default:
		return &place{strategy: Strategy{Kind: ScalarKind}}
	}
}

// list compiles a list. The field's strategy retainKeys applies to the elements.
func (t *Types) list(typ reflect.Type, strategies, key string) *place {
	element := t.place(typ.Elem(), strategies, "")
	list := &place{strategy: Strategy{Kind: ListKind}, element: element}
	if !has(strategies, "merge") {
		return list
	}
	switch holds := element.strategy.Kind; {
	case holds == ScalarKind:
		list.strategy.List = MergeSet
	case holds == ObjectKind && key != "":
		list.strategy.List, list.strategy.Keys = MergeByKey, []string{key}
	}
	return list
}

// fieldsOf compiles the fields of a struct or a map. A recursive type refers to its own fields before they are complete. That
// is safe, because they are not read before compilation ends.
func (t *Types) fieldsOf(typ reflect.Type) *fields {
	if done, ok := t.compiled[typ]; ok {
		return done
	}
	if t.compiled == nil {
		t.compiled = map[reflect.Type]*fields{}
	}
	f := &fields{byName: map[string]*place{}}
	t.compiled[typ] = f
	if typ.Kind() == reflect.Map {
		f.values = t.place(typ.Elem(), "", "")
		return f
	}
	t.addFields(f, typ)
	return f
}

// addFields adds a struct's own fields, then those of its inline structs. As in encoding/json, an outer field hides an inner
// field of the same name.
func (t *Types) addFields(f *fields, typ reflect.Type) {
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
		if _, hidden := f.byName[name]; hidden {
			continue
		}
		f.byName[name] = t.place(field.Type, field.Tag.Get("patchStrategy"), field.Tag.Get("patchMergeKey"))
		f.names = append(f.names, name)
	}
	for _, inner := range inline {
		t.addFields(f, inner)
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
	if typ.Kind() == reflect.Pointer {
		return typ.Elem()
	}
	return typ
}
