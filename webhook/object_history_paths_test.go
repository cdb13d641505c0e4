package webhook_test

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/go-cmp/cmp"
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

func isPrefix(prefix, path fieldpath.Path) bool {
	return len(prefix) <= len(path) && prefix.Equals(path[:len(prefix)])
}

func underAny(path fieldpath.Path, prefixes []fieldpath.Path) bool {
	return slices.ContainsFunc(prefixes, func(prefix fieldpath.Path) bool { return isPrefix(prefix, path) })
}

func aboveAny(path fieldpath.Path, paths []fieldpath.Path) bool {
	return slices.ContainsFunc(paths, func(p fieldpath.Path) bool { return isPrefix(path, p) })
}

// spellings are the texts that may name a path.
func spellings(path fieldpath.Path) []string {
	quoted := &strings.Builder{}
	for _, element := range path {
		name := element.FieldName
		plain := name != nil && *name != "" && strings.IndexFunc(*name, func(c rune) bool {
			return c != '-' && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
		}) < 0
		switch {
		case name == nil || plain:
			quoted.WriteString(fieldpath.Path{element}.String())
		default:
			quoted.WriteString("[" + strconv.Quote(*name) + "]")
		}
	}
	return []string{path.String(), quoted.String()}
}

// named returns the paths that a text names behind a word ("kept "), and what it names there that is none of the paths. A
// text is searched leniently: a path ends where no other known path goes on.
func named(text, word string, known map[string]fieldpath.Path) (paths []fieldpath.Path, unknown []string) {
	for rest := text; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return paths, unknown
		}
		before := rest[:i]
		rest = rest[i+len(word):]
		if strings.HasSuffix(before, "not ") || before != "" && unicode.IsLetter(rune(before[len(before)-1])) ||
			!strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "...") {
			continue
		}
		longest := ""
		for spelled := range known {
			if len(spelled) > len(longest) && strings.HasPrefix(rest, spelled) && endsPath(rest[len(spelled):]) {
				longest = spelled
			}
		}
		if longest == "" {
			// An Event has question marks for what would not read as a path.
			if name, _, _ := strings.Cut(rest, ": "); !strings.Contains(name, "?") {
				unknown = append(unknown, rest)
			}
			continue
		}
		paths = append(paths, known[longest])
	}
}

func endsPath(rest string) bool { return rest == "" || strings.ContainsRune("=:;, ", rune(rest[0])) }

// unchangedAt reports whether two objects have the same value, or none, at a path.
func unchangedAt(a, b any, path fieldpath.Path) bool {
	was, had := valueAt(a, path)
	is, has := valueAt(b, path)
	return had == has && cmp.Equal(was, is)
}
