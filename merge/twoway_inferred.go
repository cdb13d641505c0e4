package merge

// Inferred is the Schema of places of which nothing is known: it tells by the elements of a list whether they have a
// key, as kyaml does (walk.Walker with InferAssociativeLists, and yaml.AssociativeSequenceKeys). The zero value is ready
// to use. The pointer is the Schema, and its fields are not to change once it is one.
//
// The key of a list is the first of Keys that all its elements have as a field. Two lists that merge need the same key;
// an empty list goes with any. Lists without a key are replaced.
type Inferred struct {
	// Keys are the names of fields that can tell elements apart, in the order in which they are tried; nil is name alone,
	// as in kyaml v0.21.1. Earlier versions of kyaml went by mountPath, devicePath, ip, type, topologyKey, name and
	// containerPort, in this order.
	Keys []string
	// ReplaceLists infers no key: each list is replaced. So kustomize merges custom resources (merge2.Merge).
	ReplaceLists bool
	// ByKind returns the schema of a kind, or nil where it knows none. It is asked for the object itself, and for those
	// within it that say their apiVersion and kind. It may be nil.
	ByKind func(apiVersion, kind string) Schema
}

// Field implements Schema.
func (i *Inferred) Field(string) Schema { return i }

// Element implements Schema.
func (i *Inferred) Element() Schema { return i }

// Strategy implements Schema. It says that a list is replaced: TwoWay asks again once it has seen the elements.
func (i *Inferred) Strategy() Strategy { return Strategy{} }

// seen returns the schema of a place that holds these objects. The second may be nil.
func seen(schema Schema, first, second map[string]any) Schema {
	inferred, ok := schema.(*Inferred)
	if !ok || inferred.ByKind == nil {
		return schema
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
	return schema
}

// seenList returns the schema of a place that holds these lists. The second may be nil.
func seenList(schema Schema, source, destination []any) (Schema, error) {
	inferred, ok := schema.(*Inferred)
	if !ok || inferred.ReplaceLists {
		return schema, nil
	}
	key, other := inferred.key(source), inferred.key(destination)
	if key == "" && other != "" {
		// source may be held up by an element that means the list
		_, rest, err := listDirectiveOf(source)
		if err != nil {
			return nil, err
		}
		source, key = rest, inferred.key(rest)
	}
	switch {
	case len(source) == 0:
		key = other
	case len(destination) > 0 && key != other:
		return nil, wrong(inSource, ErrNoKey, "what all elements have is %q, and %q in destination", key, other)
	}
	if key == "" {
		return schema, nil
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

// Strategy implements Schema.
func (k *keyedBy) Strategy() Strategy {
	return Strategy{List: MergeByKey, Keys: k.key[:]}
}
