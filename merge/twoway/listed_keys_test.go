package twoway_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// byIdentity returns the objects of a list by their keys, and notes missing and duplicate keys.
func (l lister) byIdentity(list []any, strategy schema.Strategy) map[string]map[string]any {
	byID, members := map[string]map[string]any{}, map[string]bool{}
	for _, element := range list {
		object, isObject := element.(map[string]any)
		if _, lone := object["$patch"]; lone && len(object) == 1 {
			continue
		}
		if isObject == (strategy.List == schema.MergeSet) || element == nil {
			l.found[lacksKey] = true
			continue
		}
		id := fmt.Sprint(element)
		if isObject {
			id = l.identity(object, strategy.Keys)
		}
		if members[id] {
			l.found[sharesKey] = true
		}
		members[id], byID[id] = true, object
	}
	return byID
}

func (l lister) identity(object map[string]any, keys []string) string {
	var id strings.Builder
	for i, key := range keys {
		value := object[key]
		switch value.(type) {
		case map[string]any, []any:
			value = nil
		}
		if value == nil {
			value = ""
		}
		if value == "" {
			if i == 0 {
				l.found[lacksKey] = true
			}
		}
		fmt.Fprintf(&id, "%v\x00", value)
	}
	return id.String()
}

// loose notes whether two elements share their first key, and one of them lacks another key.
func (l lister) loose(ids []string) {
	byFirst := map[string]string{}
	for _, id := range ids {
		first, _, _ := strings.Cut(id, "\x00")
		other, ok := byFirst[first]
		if ok && other != id && (strings.Contains(id, "\x00\x00") || strings.Contains(other, "\x00\x00")) {
			l.found[lacksOneKey] = true
		}
		if !ok || strings.Contains(id, "\x00\x00") {
			byFirst[first] = id
		}
	}
}

func allNamed(list []any) bool {
	return !slices.ContainsFunc(list, func(element any) bool {
		object, _ := element.(map[string]any)
		_, ok := object["name"]
		return !ok
	})
}
