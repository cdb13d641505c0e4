package twoway_test

import (
	"maps"
	"slices"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// The differences from kyaml, by their headings in docs/merge-differences-twoway.md.
const (
	lacksKey        = "An element lacks its key"
	lacksOneKey     = "An element lacks one of several keys"
	sharesKey       = "Two elements of one list share their keys"
	replacesElement = "An element replaces, and the manifest comes first"
	newDirective    = "A new list contains a directive"
	twoDirectives   = "A list and one of its elements contain directives"
	otherDirective  = "A directive is unknown"
	emptyInferred   = "A list is empty and its key is inferred"
	oneHasKey       = "Only the manifest's elements have a key to infer"
)

// listed returns the listed differences that the merge of two values may run into.
func listed(manifest, live any, place schema.Schema, order twoway.ListOrder) []string {
	l := lister{found: map[string]bool{}, order: order}
	l.value(manifest, live, place)
	return slices.Sorted(maps.Keys(l.found))
}

type lister struct {
	found map[string]bool
	order twoway.ListOrder
}

func (l lister) value(manifest, live any, place schema.Schema) {
	s, sIsObject := manifest.(map[string]any)
	d, dIsObject := live.(map[string]any)
	if sIsObject || dIsObject {
		l.object(s, d, place)
	}
	sList, sIsList := manifest.([]any)
	dList, dIsList := live.([]any)
	if sIsList || dIsList {
		l.list(sList, dList, sIsList, dIsList, place)
	}
}

func (l lister) object(s, d map[string]any, place schema.Schema) {
	if inferred, ok := place.(*twoway.Inferred); ok {
		for _, object := range []map[string]any{d, s} {
			apiVersion, _ := object["apiVersion"].(string)
			kind, _ := object["kind"].(string)
			if known := inferred.ByKind(apiVersion, kind); known != nil {
				place = known
				break
			}
		}
	}
	l.directive(s)
	for name, value := range s {
		l.value(value, d[name], place.Field(name))
	}
	for name, value := range d {
		if _, both := s[name]; !both {
			l.value(nil, value, place.Field(name))
		}
	}
}

func (l lister) list(s, d []any, sIsList, dIsList bool, place schema.Schema) {
	strategy := place.Strategy()
	if inferred, ok := place.(*twoway.Inferred); ok && !inferred.ReplaceLists {
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
		strategy = schema.Strategy{List: schema.MergeByKey, Keys: []string{"name"}}
	}
	if strategy.List == schema.ReplaceList {
		return
	}
	l.directives(s, dIsList)
	from, to := l.byIdentity(s, strategy), l.byIdentity(d, strategy)
	if strategy.List == schema.MergeSet {
		return
	}
	l.loose(slices.Concat(slices.Collect(maps.Keys(from)), slices.Collect(maps.Keys(to))))
	for id, element := range from {
		if element["$patch"] == "replace" && to[id] != nil && l.order == twoway.ManifestFirst {
			l.found[replacesElement] = true
		}
		l.object(element, to[id], place.Element())
	}
	for id, element := range to {
		if from[id] == nil {
			l.object(nil, element, place.Element())
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
