package twoway

import (
	"slices"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// Inferred is the schema of objects of unknown kinds. It infers the keys of lists from their elements, as kyaml does
// (walk.Walker with InferAssociativeLists). The zero value is ready to use. Package threeway does not support it unless
// ReplaceLists is set.
//
// The key of a list is the first of Keys that all of its elements have. Two lists that merge need the same key; an empty list
// merges with any list. Lists without a key are replaced.
//
// A pointer to an Inferred implements schema.Schema. Its fields must not change after first use.
type Inferred struct {
	// Keys are the names of possible key fields, in order of preference. If it is nil, the only one is name, as in kyaml
	// v0.21.1. Earlier versions of kyaml used mountPath, devicePath, ip, type, topologyKey, name and containerPort, in this
	// order.
	Keys []string
	// ReplaceLists replaces every list instead of inferring its key. kustomize merges custom resources like that
	// (merge2.Merge).
	ReplaceLists bool
	// ByKind returns the schema of a kind, nil if the kind is unknown. It is called for the merged object, and for objects in
	// it that have an apiVersion and a kind. It may be nil.
	ByKind func(apiVersion, kind string) schema.Schema
}

// Field implements schema.Schema.
func (i *Inferred) Field(string) schema.Schema { return i }

// Element implements schema.Schema.
func (i *Inferred) Element() schema.Schema { return i }

// Strategy implements schema.Schema.
func (i *Inferred) Strategy() schema.Strategy {
	if i.ReplaceLists {
		return schema.Strategy{}
	}
	return schema.Strategy{List: schema.InferKey}
}

// schemaOf returns the schema of a field, given its objects in the two inputs. The second may be nil.
func schemaOf(place schema.Schema, first, second *node) schema.Schema {
	inferred, ok := place.(*Inferred)
	if !ok || inferred.ByKind == nil {
		return place
	}
	for _, object := range [...]*node{first, second} {
		apiVersion, kind := object.Field("apiVersion", 0).Unquoted(), object.Field("kind", 0).Unquoted()
		if apiVersion == "" || kind == "" {
			continue
		}
		if known := inferred.ByKind(apiVersion, kind); known != nil {
			return known
		}
	}
	return place
}

// schemaOfLists returns the schema of a field, given its lists in the two inputs. live may be nil.
func (m *merger) schemaOfLists(place schema.Schema, manifest, live *node) (schema.Schema, error) {
	inferred, ok := place.(*Inferred)
	if !ok || inferred.ReplaceLists {
		return place, nil
	}
	if live == nil {
		live = &node{Kind: '['}
	}
	key, other := inferred.key(manifest), inferred.key(live)
	if key == "" && other != "" {
		// a list directive among the manifest's elements has no key
		_, rest, err := m.listDirectiveOf(manifest)
		if err != nil {
			return nil, err
		}
		manifest, key = rest, inferred.key(rest)
	}
	switch {
	case len(manifest.Children) == 0:
		key = other
	case len(live.Children) > 0 && key != other:
		return nil, m.at.Wrong(inManifest, ErrNoKey, "the elements' common key is %q, and %q in live", key, other)
	}
	if key == "" {
		return place, nil
	}
	strategy := schema.Strategy{List: schema.MergeByKey, Keys: []string{key}}
	return &schema.Declared{Merges: strategy, Unknown: inferred}, nil
}

// key returns the first of the possible key fields that all elements have; empty if there is none, or the list is empty.
func (i *Inferred) key(list *node) string {
	keys := i.Keys
	if keys == nil {
		keys = []string{"name"}
	}
	for _, key := range keys {
		if len(list.Children) > 0 && !slices.ContainsFunc(list.Children, func(c member) bool { return c.Node.Field(key, 0) == nil }) {
			return key
		}
	}
	return ""
}
