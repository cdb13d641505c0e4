package threeway_test

import (
	"slices"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// isAddedAgain reports whether base and manifest both have an object, an element or a list with elements that live lacks: the first
// difference of docs/merge-differences.md.
func isAddedAgain(base, manifest, live any, place schema.Schema) bool {
	switch m := manifest.(type) {
	case map[string]any:
		b, ok := base.(map[string]any)
		if !ok {
			return false
		}
		l, ok := live.(map[string]any)
		if !ok {
			return true
		}
		for name := range m {
			if isAddedAgain(b[name], m[name], l[name], place.Field(name)) {
				return true
			}
		}
	case []any:
		strategy := place.Strategy()
		b, ok := base.([]any)
		if !ok || len(b) == 0 || strategy.List == schema.ReplaceList {
			return false
		}
		l, ok := live.([]any)
		if !ok || len(l) == 0 {
			return true
		}
		if strategy.List != schema.MergeByKey {
			return false
		}
		for _, element := range m {
			if isAddedAgain(having(b, element, strategy), element, having(l, element, strategy), place.Element()) {
				return true
			}
		}
	}
	return false
}

// having returns the element of a list with the same keys, nil if there is none.
func having(list []any, like any, strategy schema.Strategy) any {
	wanted, _ := like.(map[string]any)
	i := slices.IndexFunc(list, func(element any) bool {
		object, _ := element.(map[string]any)
		return !slices.ContainsFunc(strategy.Keys, func(key string) bool { return object[key] != wanted[key] })
	})
	if i < 0 {
		return nil
	}
	return list[i]
}
