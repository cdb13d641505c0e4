package accepted_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// kind is the grammar for the manifests of a kind.
type kind struct {
	gvk schema.GroupVersionKind

	// base is the part that all manifests of the kind have.
	base string
	// slots are the optional parts of a manifest, each with several options.
	slots []slot
	// ruled are the fields of a controller rule, which the controller tuner writes, as patterns.
	ruled []string
	// scaled reports whether the kind has /scale.
	scaled bool
}

// slot is a place in a manifest with its options, which are chosen so that the API server accepts most combinations.
type slot struct {
	// at is the place: names separated by slashes, with name=a for the list element with that key.
	at      string
	options []any
	// required slots are never empty.
	required bool
	// needs is another slot's place. If that slot is empty or has none of the values, this slot is empty too.
	needs  string
	values []any
}

// null is the option null.
type null struct{}

// manifest is the chosen option of each non-empty slot.
type manifest map[string]any

func (k kind) namespace() string { return "accepted-" + strings.ToLower(k.gvk.Kind) }

// options returns a slot with options from YAML texts.
func options(at string, texts ...string) slot {
	s := slot{at: at}
	for _, text := range texts {
		s.options = append(s.options, decodeYAML(text))
	}
	return s
}

func (s slot) always() slot           { s.required = true; return s }
func (s slot) with(needs string) slot { s.needs = needs; return s }
func (s slot) when(needs string, values ...string) slot {
	s.needs = needs
	for _, v := range values {
		s.values = append(s.values, v)
	}
	return s
}
func (s slot) under(prefix string) slot {
	s.at = prefix + s.at
	if s.needs != "" {
		s.needs = prefix + s.needs
	}
	return s
}

// decodeYAML decodes a fragment of the grammar. It panics on an error, which is a mistake in this package.
func decodeYAML(text string) any {
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		panic(fmt.Sprintf("grammar: %s: %v", text, err))
	}
	var value any
	if err := utiljson.Unmarshal(asJSON, &value); err != nil {
		panic(fmt.Sprintf("grammar: %s: %v", text, err))
	}
	return value
}

// object returns the object that a manifest declares.
func (k kind) object(m manifest, name string) map[string]any {
	o, _ := decodeYAML(k.base).(map[string]any)
	if o == nil {
		o = map[string]any{}
	}
	for _, s := range k.slots {
		value, ok := m[s.at]
		if !ok || !k.allowed(s, m) {
			continue
		}
		if _, isNull := value.(null); isNull {
			value = nil
		}
		setAt(o, strings.Split(s.at, "/"), value)
	}
	o["apiVersion"], o["kind"] = k.gvk.GroupVersion().String(), k.gvk.Kind
	setAt(o, []string{"metadata", "name"}, name)
	setAt(o, []string{"metadata", "namespace"}, k.namespace())
	return o
}

// allowed reports whether a manifest has the slot that a slot requires.
func (k kind) allowed(s slot, m manifest) bool {
	if s.needs == "" {
		return true
	}
	value, has := m[s.needs]
	if !has || len(s.values) > 0 && !slices.ContainsFunc(s.values, func(v any) bool { return v == value }) {
		return false
	}
	i := slices.IndexFunc(k.slots, func(other slot) bool { return other.at == s.needs })
	return k.allowed(k.slots[i], m)
}

// setAt sets the value at a place, and creates its parents.
func setAt(o map[string]any, at []string, value any) {
	if len(at) == 1 {
		o[at[0]] = runtime.DeepCopyJSONValue(value)
		return
	}
	key, name, isElement := strings.Cut(at[1], "=")
	if !isElement {
		inner, ok := o[at[0]].(map[string]any)
		if !ok {
			inner = map[string]any{}
			o[at[0]] = inner
		}
		setAt(inner, at[1:], value)
		return
	}
	list, _ := o[at[0]].([]any)
	element, _ := elementOf(list, key, name)
	if element == nil {
		element = map[string]any{key: scalar(name)}
		list = append(list, element)
	}
	if len(at) == 2 {
		content, _ := runtime.DeepCopyJSONValue(value).(map[string]any)
		maps.DeleteFunc(element, func(string, any) bool { return true })
		maps.Copy(element, content)
		element[key] = scalar(name)
	} else {
		setAt(element, at[2:], value)
	}
	o[at[0]] = list
}

// getAt returns the value at a place.
func getAt(value any, at []string) (any, bool) {
	for _, name := range at {
		key, want, isElement := strings.Cut(name, "=")
		if isElement {
			list, _ := value.([]any)
			element, _ := elementOf(list, key, want)
			if element == nil {
				return nil, false
			}
			value = element
			continue
		}
		members, _ := value.(map[string]any)
		var ok bool
		if value, ok = members[name]; !ok {
			return nil, false
		}
	}
	return value, true
}

func elementOf(list []any, key, name string) (map[string]any, int) {
	for i, e := range list {
		if element, ok := e.(map[string]any); ok && fmt.Sprint(element[key]) == name {
			return element, i
		}
	}
	return nil, -1
}

func scalar(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}
