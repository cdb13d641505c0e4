package merge_test

import (
	"maps"
	"slices"

	"github.com/ownership-handoff/handoff/merge"
)

// The differences from kyaml, by their headings in docs/merge-differences-twoway.md.
const (
	lacksKey        = "An element lacks its key"
	lacksOneKey     = "An element lacks one of several keys"
	sharesKey       = "Two elements of one list share their keys"
	replacesElement = "An element replaces, and source comes first"
	newDirective    = "A list is new and holds a directive"
	twoDirectives   = "A list holds a directive beside an element's"
	otherDirective  = "A directive is unknown"
	emptyInferred   = "A list is empty and its key is inferred"
	oneHasKey       = "Only source's elements have a key to infer"
)

// listed returns the listed differences that the merge of two values may run into.
func listed(source, destination any, schema merge.Schema, order merge.ListOrder) []string {
	l := lister{found: map[string]bool{}, order: order}
	l.value(source, destination, schema)
	return slices.Sorted(maps.Keys(l.found))
}

type lister struct {
	found map[string]bool
	order merge.ListOrder
}

func (l lister) value(source, destination any, schema merge.Schema) {
	s, sIsObject := source.(map[string]any)
	d, dIsObject := destination.(map[string]any)
	if sIsObject || dIsObject {
		l.object(s, d, schema)
	}
	sList, sIsList := source.([]any)
	dList, dIsList := destination.([]any)
	if sIsList || dIsList {
		l.list(sList, dList, sIsList, dIsList, schema)
	}
}

func (l lister) object(s, d map[string]any, schema merge.Schema) {
	if inferred, ok := schema.(*merge.Inferred); ok {
		for _, object := range []map[string]any{d, s} {
			apiVersion, _ := object["apiVersion"].(string)
			kind, _ := object["kind"].(string)
			if known := inferred.ByKind(apiVersion, kind); known != nil {
				schema = known
				break
			}
		}
	}
	l.directive(s)
	for name, value := range s {
		l.value(value, d[name], schema.Field(name))
	}
	for name, value := range d {
		if _, both := s[name]; !both {
			l.value(nil, value, schema.Field(name))
		}
	}
}

func (l lister) list(s, d []any, sIsList, dIsList bool, schema merge.Schema) {
	strategy := schema.Strategy()
	if inferred, ok := schema.(*merge.Inferred); ok && !inferred.ReplaceLists {
		named := sIsList && allNamed(s) || dIsList && allNamed(d)
		if sIsList && len(s) == 0 || dIsList && len(d) == 0 {
			l.found[emptyInferred] = true
		}
		if !named {
			return
		}
		if len(d) > 0 && !allNamed(d) {
			l.found[oneHasKey] = true
		}
		strategy = merge.Strategy{List: merge.MergeByKey, Keys: []string{"name"}}
	}
	if strategy.List == merge.ReplaceList {
		return
	}
	l.directives(s, dIsList)
	from, to := l.byIdentity(s, strategy), l.byIdentity(d, strategy)
	if strategy.List == merge.MergeSet {
		return
	}
	l.loose(slices.Concat(slices.Collect(maps.Keys(from)), slices.Collect(maps.Keys(to))))
	for id, element := range from {
		if element["$patch"] == "replace" && to[id] != nil && l.order == merge.SourceFirst {
			l.found[replacesElement] = true
		}
		l.object(element, to[id], schema.Element())
	}
	for id, element := range to {
		if from[id] == nil {
			l.object(nil, element, schema.Element())
		}
	}
}

func (l lister) directives(s []any, merged bool) {
	lone, all := 0, 0
	for _, element := range s {
		object, _ := element.(map[string]any)
		if _, ok := object["$patch"]; ok {
			all++
			if len(object) == 1 {
				lone++
				l.directive(object)
			}
		}
	}
	if lone > 0 && !merged {
		l.found[newDirective] = true
	}
	if lone > 0 && all > 1 {
		l.found[twoDirectives] = true
	}
}

func (l lister) directive(object map[string]any) {
	if said, ok := object["$patch"]; ok && said != "merge" && said != "replace" && said != "delete" {
		l.found[otherDirective] = true
	}
}
