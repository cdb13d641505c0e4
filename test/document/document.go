// Package document reads and changes decoded JSON objects by path. It shares no code with the product, so that generators and models
// of tests can use it.
package document

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Get returns the value at a path.
func Get(v any, path fieldpath.Path) (found any, ok bool) {
	for _, element := range path {
		if v, ok = child(v, element); !ok {
			return nil, false
		}
	}
	return v, true
}

func child(v any, element fieldpath.PathElement) (found any, ok bool) {
	if element.FieldName != nil {
		object, _ := v.(map[string]any)
		found, ok = object[*element.FieldName]
		return found, ok
	}
	list, _ := v.([]any)
	if i := index(list, element); i >= 0 {
		return list[i], true
	}
	return nil, false
}

// index returns the index of the list element that an index, a key or a value names, -1 if there is none.
func index(list []any, element fieldpath.PathElement) int {
	if element.Index != nil && *element.Index < len(list) {
		return *element.Index
	}
	return slices.IndexFunc(list, func(item any) bool {
		if element.Value != nil {
			return value.Equals(value.NewValueInterface(item), *element.Value)
		}
		object, ok := item.(map[string]any)
		return ok && element.Key != nil && !slices.ContainsFunc(*element.Key, func(f value.Field) bool {
			member, has := object[f.Name]
			if !has && f.Name == "protocol" {
				member = "TCP" // the only key with a default
			}
			return !value.Equals(value.NewValueInterface(member), f.Value)
		})
	})
}

// Set sets the value at a path, with the objects and list elements that lead to it, and returns the changed value. An element keeps
// its key.
func Set(v any, path fieldpath.Path, to any) any {
	if len(path) == 0 {
		return to
	}
	element := path[0]
	if element.FieldName != nil {
		object, _ := v.(map[string]any)
		if object == nil {
			object = map[string]any{}
		}
		object[*element.FieldName] = Set(object[*element.FieldName], path[1:], to)
		return object
	}
	list, _ := v.([]any)
	key := map[string]any{}
	for _, f := range *element.Key {
		key[f.Name] = f.Value.Unstructured()
	}
	i := index(list, element)
	if i < 0 {
		list = append(list, maps.Clone(key))
		i = len(list) - 1
	}
	object, ok := Set(list[i], path[1:], to).(map[string]any)
	if !ok {
		object = map[string]any{} // null stands for an element of nothing but its key
	}
	maps.Copy(object, key)
	list[i] = object
	return list
}

// Remove removes the value at a path.
func Remove(v any, path fieldpath.Path) {
	last, above := path[len(path)-1], path[:len(path)-1]
	parent, _ := Get(v, above)
	switch in := parent.(type) {
	case map[string]any:
		if last.FieldName != nil {
			delete(in, *last.FieldName)
		}
	case []any:
		if i := index(in, last); i >= 0 {
			Set(v, above, slices.Delete(slices.Clone(in), i, i+1))
		}
	}
}
