package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/ownership"
)

// validateShape returns an error for a path that can match no field, if all kinds are built in, in any of their versions. A later version
// of Kubernetes can have other fields, but not another type for one.
func validateShape(text string, pattern ownership.Pattern, kinds []RuleKind) (err error) {
	var types schema.Types
	for _, kind := range kinds {
		isKnown := false
		for is := range scheme.Scheme.AllKnownTypes() {
			if is.Kind != kind.Kind || cmp.Or(is.Group, "core") != kind.Group {
				continue
			}
			object, unknown := scheme.Scheme.New(is)
			if isKnown = unknown == nil; isKnown {
				err = neverMatches(pattern, types.Of(object))
			}
			if err == nil {
				return nil
			}
		}
		if !isKnown {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("%s never matches: %w", text, err)
	}
	return nil
}

// neverMatches returns why a path matches no field of a kind, nil if it can match one.
func neverMatches(pattern ownership.Pattern, in schema.Schema) error {
	name := "the object"
	var keys []string // of the list that has the element
	for _, m := range pattern {
		at := in.Strategy()
		isElement, isField := m.Key != nil || m.Index != nil || m.Value != nil, m.FieldName != nil
		switch {
		case at.Kind == schema.AnyKind, at.Kind == schema.ObjectKind && m.Wildcard && m.Key == nil:
			return nil
		case at.Kind == schema.ScalarKind:
			return fmt.Errorf(`%s has no fields; if its name contains a dot, write it in brackets and quotes, such as .data["a.b"]`, name)
		case at.Kind == schema.ObjectKind && isElement:
			return fmt.Errorf("%s is an object; name a field", name)
		case at.Kind == schema.ObjectKind && slices.Contains(keys, *m.FieldName):
			return fmt.Errorf("%s identifies its list element; delete the path", *m.FieldName)
		case at.Kind == schema.ObjectKind:
			name, in, keys = *m.FieldName, in.Field(*m.FieldName), nil
			continue
		case isField:
			return fmt.Errorf("%s is a list; name an element, such as [*]", name)
		case at.List == schema.MergeByKey && isElement && !hasKeys(m, keysOf(at)):
			all := keysOf(at)
			return fmt.Errorf("%s is a list whose elements are identified by %s; write [*] or [%s=...]", name,
				strings.Join(all, " and "), strings.Join(all, "=...,"))
		}
		in, keys = in.Element(), at.Keys
	}
	return nil
}

// secondKeys are the second keys of lists, by the first. managedFields name elements by both (the x-kubernetes-list-map-keys of a Service's
// ports, a container's ports and topologySpreadConstraints); kubectl apply merges by the first.
var secondKeys = map[string]string{"port": "protocol", "containerPort": "protocol", "topologyKey": "whenUnsatisfiable"}

// keysOf returns the keys by which managedFields name the elements of a list.
func keysOf(list schema.Strategy) []string {
	if second := secondKeys[list.Keys[0]]; second != "" {
		return []string{list.Keys[0], second}
	}
	return list.Keys[:1]
}

// hasKeys reports whether a part of a path names elements by all keys or, for a key with any value, by the first.
func hasKeys(m fieldpath.PathElementMatcher, keys []string) bool {
	if m.Wildcard {
		keys = keys[:1]
	}
	return m.Key != nil && !slices.ContainsFunc(keys, func(key string) bool {
		return !slices.ContainsFunc(*m.Key, func(f value.Field) bool { return f.Name == key })
	})
}
