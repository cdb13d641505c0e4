package threeway_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// mutate changes one place of value, which is a part of whole.
func (c *choices) mutate(value map[string]any, place schema.Schema, whole map[string]any) {
	names := slices.Sorted(maps.Keys(value))
	missing := slices.DeleteFunc(slices.Sorted(maps.Keys(whole)), func(name string) bool { _, ok := value[name]; return ok })
	if len(names) == 0 || len(missing) > 0 && c.oneIn(8) {
		if len(missing) > 0 {
			name := missing[c.upTo(len(missing))]
			value[name] = runtime.DeepCopyJSONValue(normalValue(whole[name]))
		}
		return
	}
	name := names[c.upTo(len(names))]
	if !c.oneIn(7) {
		switch inner := value[name].(type) {
		case map[string]any:
			within, _ := whole[name].(map[string]any)
			c.mutate(inner, place.Field(name), within)
			return
		case []any:
			value[name] = c.mutateList(inner, place.Field(name), whole[name])
			return
		}
	}
	c.replace(value, name)
}

func (c *choices) replace(value map[string]any, name string) {
	switch c.upTo(5) {
	case 0:
		delete(value, name)
	case 1:
		value[name] = nil
	case 2:
		switch v := value[name].(type) {
		case map[string]any:
			value[name] = map[string]any{}
		case []any:
			value[name] = []any{}
		case string:
			value[name] = v + strconv.Itoa(c.upTo(3))
		case int64:
			value[name] = v + int64(c.upTo(3))
		case bool:
			value[name] = !v
		}
	case 3:
		if _, scalar := value[name].(string); scalar {
			value[name] = []any{"other", int64(c.upTo(70000)), "é\"\\<", ""}[c.upTo(4)]
		}
	default:
		value["x"+name] = "new"
	}
}

func (c *choices) mutateList(list []any, place schema.Schema, whole any) []any {
	strategy := place.Strategy()
	if len(list) == 0 {
		all, _ := whole.([]any)
		copied, _ := runtime.DeepCopyJSONValue(normalValue(all)).([]any)
		return append([]any{}, copied...)
	}
	i := c.upTo(len(list))
	switch c.upTo(6) {
	case 0:
		return slices.Delete(list, i, i+1)
	case 1:
		j := c.upTo(len(list))
		list[i], list[j] = list[j], list[i]
		return list
	case 2:
		return c.insert(list, i, strategy)
	default:
		switch element := list[i].(type) {
		case map[string]any:
			kept := map[string]any{}
			for _, key := range strategy.Keys {
				kept[key] = element[key]
			}
			c.mutate(element, place.Element(), c.counterpart(whole, strategy, kept))
			maps.Copy(element, kept)
		case string:
			if strategy.List != schema.MergeSet {
				list[i] = element + "!"
			}
		}
		return list
	}
}

// insert adds an element to a list that lacks it.
func (c *choices) insert(list []any, at int, strategy schema.Strategy) []any {
	fresh := fmt.Sprintf("n%d", c.upTo(4))
	var element any = fresh
	if like, ok := list[at].(map[string]any); ok {
		object := runtime.DeepCopyJSON(like)
		for _, key := range strategy.Keys {
			object[key] = fresh
			if _, number := like[key].(int64); number {
				object[key] = int64(1000 + c.upTo(4))
			}
		}
		element = object
	}
	same := func(other any) bool {
		if strategy.List == schema.MergeByKey {
			a, _ := element.(map[string]any)
			b, _ := other.(map[string]any)
			return a[strategy.Keys[0]] == b[strategy.Keys[0]]
		}
		return apiequality.Semantic.DeepEqual(element, other)
	}
	if strategy.List != schema.ReplaceList && slices.ContainsFunc(list, same) {
		return list
	}
	if _, number := list[at].(int64); number {
		element = int64(1000)
	}
	return slices.Insert(list, c.upTo(len(list)+1), element)
}

// counterpart returns the element of the whole object with the same key.
func (c *choices) counterpart(whole any, strategy schema.Strategy, keys map[string]any) map[string]any {
	list, _ := whole.([]any)
	for _, element := range list {
		object, _ := element.(map[string]any)
		if len(strategy.Keys) > 0 && apiequality.Semantic.DeepEqual(normalValue(object[strategy.Keys[0]]), keys[strategy.Keys[0]]) {
			return object
		}
	}
	return nil
}
