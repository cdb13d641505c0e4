package accepted_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// schemas are the schemas of the built-in kinds, with the keys of their lists.
type schemas struct{ managedfields.TypeConverter }

func newSchemas() schemas { return schemas{applyconfigurations.NewTypeConverter(scheme.Scheme)} }

// leaves returns the leaf fields of an object, with list elements by key, except for the fields that the API server sets and
// annotations that this package compares separately.
func (s schemas) leaves(o map[string]any) []fieldpath.Path {
	if o == nil {
		return nil
	}
	typed, err := s.ObjectToTyped(&unstructured.Unstructured{Object: withoutServer(o)})
	if err != nil {
		return nil // two elements have the same key, which the API server may reject
	}
	set, err := typed.ToFieldSet()
	if err != nil {
		return nil
	}
	var found []fieldpath.Path
	set.Leaves().Iterate(func(p fieldpath.Path) {
		if !strings.HasPrefix(p.String(), ".apiVersion") && !strings.HasPrefix(p.String(), ".kind") {
			found = append(found, p.Copy())
		}
	})
	return found
}

// withoutServer returns an object without identity, bookkeeping and status.
func withoutServer(o map[string]any) map[string]any {
	c := (&unstructured.Unstructured{Object: o}).DeepCopy().Object
	delete(c, "status")
	meta, _ := c["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, name := range []string{"labels", "annotations"} {
		if members, ok := meta[name].(map[string]any); ok {
			delete(members, lastApplied)
			delete(members, modeAnnotation)
			if len(members) > 0 {
				kept[name] = members
			}
		}
	}
	c["metadata"] = kept
	return c
}

// at returns the value at a path.
func at(o any, p fieldpath.Path) (any, bool) {
	for _, e := range p {
		switch {
		case e.FieldName != nil:
			members, ok := o.(map[string]any)
			if !ok {
				return nil, false
			}
			if o, ok = members[*e.FieldName]; !ok {
				return nil, false
			}
		default:
			list, _ := o.([]any)
			i := slices.IndexFunc(list, func(v any) bool { return isElement(v, e) })
			if e.Index != nil && *e.Index < len(list) {
				i = *e.Index
			}
			if i < 0 {
				return nil, false
			}
			o = list[i]
		}
	}
	return o, true
}

func isElement(v any, e fieldpath.PathElement) bool {
	if e.Value != nil {
		return value.Equals(value.NewValueInterface(v), *e.Value)
	}
	members, ok := v.(map[string]any)
	if e.Key == nil || !ok {
		return false
	}
	for _, field := range *e.Key {
		member, has := members[field.Name]
		if !has && field.Name == "protocol" {
			member, has = "TCP", true // the only key with a default
		}
		if !has || !value.Equals(value.NewValueInterface(member), field.Value) {
			return false
		}
	}
	return true
}

// equal reports whether two objects have the same value at a path.
func equal(a, b any, p fieldpath.Path) bool {
	left, inLeft := at(a, p)
	right, inRight := at(b, p)
	return inLeft == inRight && reflect.DeepEqual(left, right)
}

// within reports whether a stored value contains all values of a manifest. The stored value can also contain defaults.
func within(said, stored any) bool {
	switch s := said.(type) {
	case map[string]any:
		members, ok := stored.(map[string]any)
		for name, v := range s {
			ok = ok && within(v, members[name])
		}
		return ok
	case []any:
		list, ok := stored.([]any)
		ok = ok && len(list) == len(s)
		for i := range s {
			ok = ok && within(s[i], list[i])
		}
		return ok
	default:
		return reflect.DeepEqual(said, stored) || sameQuantity(said, stored)
	}
}

// sameQuantity reports whether two values are the same quantity: the API server stores 1000 as 1k. No other values of the
// grammar look like quantities and have two spellings.
func sameQuantity(a, b any) bool {
	left, errLeft := resource.ParseQuantity(fmt.Sprint(a))
	right, errRight := resource.ParseQuantity(fmt.Sprint(b))
	if !strings.ContainsAny(fmt.Sprint(a), "0123456789") {
		return false // a unit without a number is parsed as 0
	}
	return errLeft == nil && errRight == nil && left.Cmp(right) == 0
}

// covers reports whether p equals q or is an ancestor of q.
func covers(p, q fieldpath.Path) bool { return len(p) <= len(q) && p.Equals(q[:len(p)]) }

func related(p, q fieldpath.Path) bool { return covers(p, q) || covers(q, p) }

// entrySets are the field sets of an object's managedFields entries.
type entrySets map[string]*fieldpath.Set

func entrySetsOf(o *unstructured.Unstructured) entrySets {
	all := entrySets{}
	for _, e := range o.GetManagedFields() {
		if e.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(strings.NewReader(string(e.FieldsV1.GetRawBytes()))); err == nil {
			all[entryName(e)] = set
		}
	}
	return all
}

func entryName(e metav1.ManagedFieldsEntry) string {
	return strings.TrimSuffix(e.Manager+"/"+string(e.Operation)+"/"+e.Subresource, "/")
}

// on returns, by entry, the managed paths at or below a path, as text.
func (c entrySets) on(p fieldpath.Path) map[string]string {
	found := map[string]string{}
	for name, set := range c {
		var paths []string
		set.Iterate(func(q fieldpath.Path) {
			if covers(p, q) {
				paths = append(paths, q.String())
			}
		})
		slices.Sort(paths)
		if len(paths) > 0 {
			found[name] = strings.Join(paths, " ")
		}
	}
	return found
}

// by returns the entries that manage a field or a field nested under it. An entry for a map alone does not manage its members.
func (c entrySets) by(p fieldpath.Path) []string {
	var names []string
	for name, set := range c {
		claimed := false
		set.Leaves().Iterate(func(q fieldpath.Path) { claimed = claimed || covers(p, q) })
		if claimed || set.Has(p) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
