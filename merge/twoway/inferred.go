package twoway

import "github.com/ownership-handoff/handoff/merge/schema"

// Inferred is the schema of objects of which nothing is known: whether a list has a key is told by its elements, as kyaml
// does it (walk.Walker with InferAssociativeLists). The zero value is ready to use. Only this package merges by it: for
// package threeway it is an error, unless it replaces lists.
//
// The key of a list is the first of Keys that all of its elements have. Two lists that merge need the same key; an empty
// list goes with any. Lists without a key are replaced.
//
// The pointer is the schema. Its fields must not change once it is in use.
type Inferred struct {
	// Keys are the names of fields that can tell elements apart, in the order in which they are tried; nil is name alone,
	// as in kyaml v0.21.1. Earlier versions of kyaml went by mountPath, devicePath, ip, type, topologyKey, name and
	// containerPort, in this order.
	Keys []string
	// ReplaceLists infers no key: each list is replaced. So kustomize merges custom resources (merge2.Merge).
	ReplaceLists bool
	// ByKind returns the schema of a kind, or nil where it knows none. It is asked for the object itself, and for those
	// within it that say their apiVersion and kind. It may be nil.
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

// seen returns the schema of a place that holds these objects. The second may be nil.
func seen(place schema.Schema, first, second map[string]any) schema.Schema {
	inferred, ok := place.(*Inferred)
	if !ok || inferred.ByKind == nil {
		return place
	}
	for _, object := range [...]map[string]any{first, second} {
		apiVersion, _ := opened(object["apiVersion"], nil).(string)
		kind, _ := opened(object["kind"], nil).(string)
		if apiVersion == "" || kind == "" {
			continue
		}
		if known := inferred.ByKind(apiVersion, kind); known != nil {
			return known
		}
	}
	return place
}

// seenList returns the schema of a place that holds these lists. The second may be nil.
func seenList(place schema.Schema, manifest, live []any) (schema.Schema, error) {
	inferred, ok := place.(*Inferred)
	if !ok || inferred.ReplaceLists {
		return place, nil
	}
	key, other := inferred.key(manifest), inferred.key(live)
	if key == "" && other != "" {
		// manifest may be held up by an element that means the list
		_, rest, err := listDirectiveOf(manifest)
		if err != nil {
			return nil, err
		}
		manifest, key = rest, inferred.key(rest)
	}
	switch {
	case len(manifest) == 0:
		key = other
	case len(live) > 0 && key != other:
		return nil, wrong(inManifest, ErrNoKey, "what all elements have is %q, and %q in live", key, other)
	}
	if key == "" {
		return place, nil
	}
	return &keyedBy{Inferred: inferred, key: [1]string{key}}, nil
}

// key returns the first key that all elements have as a field, empty when there is none or no element.
func (i *Inferred) key(list []any) string {
	if len(list) == 0 {
		return ""
	}
	if i.Keys == nil {
		if allHave(list, "name") {
			return "name"
		}
		return ""
	}
	for _, key := range i.Keys {
		if allHave(list, key) {
			return key
		}
	}
	return ""
}

func allHave(list []any, key string) bool {
	for _, element := range list {
		object, ok := element.(map[string]any)
		if !ok {
			return false
		}
		if _, ok := object[key]; !ok {
			return false
		}
	}
	return true
}

// keyedBy is the schema of a list whose key has been inferred.
type keyedBy struct {
	*Inferred
	key [1]string
}

// Strategy implements schema.Schema.
func (k *keyedBy) Strategy() schema.Strategy {
	return schema.Strategy{List: schema.MergeByKey, Keys: k.key[:]}
}
