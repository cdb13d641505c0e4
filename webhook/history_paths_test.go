package webhook_test

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// valueAt returns the value at a path of a decoded object.
func valueAt(v any, path fieldpath.Path) (found any, ok bool) {
	for _, element := range path {
		if v, ok = childOf(v, element); !ok {
			return nil, false
		}
	}
	return v, true
}

func childOf(v any, element fieldpath.PathElement) (child any, ok bool) {
	if element.FieldName != nil {
		object, _ := v.(map[string]any)
		child, ok = object[*element.FieldName]
		return child, ok
	}
	list, _ := v.([]any)
	for i, item := range list {
		if element.Index != nil && *element.Index == i || matches(item, element) {
			return item, true
		}
	}
	return nil, false
}

// matches reports whether an element of a list is the one that a key or a value names.
func matches(item any, element fieldpath.PathElement) bool {
	switch {
	case element.Value != nil:
		return scalarText(item) == scalarText((*element.Value).Unstructured())
	case element.Key != nil:
		object, ok := item.(map[string]any)
		return ok && !slices.ContainsFunc(*element.Key, func(f value.Field) bool {
			return scalarText(object[f.Name]) != scalarText(f.Value.Unstructured())
		})
	default:
		return false
	}
}

func scalarText(v any) string { return encode(v) }

// setAt sets the value at a path, with the objects and list elements that lead to it.
func setAt(v any, path fieldpath.Path, to any) any {
	if len(path) == 0 {
		return to
	}
	element := path[0]
	if element.FieldName != nil {
		object, _ := v.(map[string]any)
		if object == nil {
			object = map[string]any{}
		}
		object[*element.FieldName] = setAt(object[*element.FieldName], path[1:], to)
		return object
	}
	list, _ := v.([]any)
	for i, item := range list {
		if matches(item, element) {
			list[i] = setAt(item, path[1:], to)
			return list
		}
	}
	created := map[string]any{}
	for _, f := range *element.Key {
		created[f.Name] = f.Value.Unstructured()
	}
	return append(list, setAt(created, path[1:], to))
}

// unsetAt removes the value at a path.
func unsetAt(v any, path fieldpath.Path) {
	parent, ok := valueAt(v, path[:len(path)-1])
	object, isObject := parent.(map[string]any)
	if last := path[len(path)-1].FieldName; ok && isObject && last != nil {
		delete(object, *last)
	}
}
