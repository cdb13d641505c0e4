package ledger

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Stored is what the API server has stored, in the terms of the ledger.
type Stored struct {
	Values   Values
	Managers map[string][]Entry
	// Base are the fields of the last-applied annotation, nil if there is none; Unread reports whether it cannot be read.
	Base   Values
	Unread bool
}

// Reader reads objects by the schemas of the built-in kinds. Lists of custom resources are leaves.
type Reader struct{ typed, deduced managedfields.TypeConverter }

// NewReader returns a Reader. It reads all schemas, so that a program needs only one.
func NewReader() Reader {
	return Reader{applyconfigurations.NewTypeConverter(scheme.Scheme), managedfields.NewDeducedTypeConverter()}
}

// Read returns what is stored of an object.
func (r Reader) Read(u *unstructured.Unstructured) (s Stored, err error) {
	s = Stored{Values: r.LeavesOf(u.Object), Managers: map[string][]Entry{}}
	if text, ok := u.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok {
		var manifest map[string]any
		s.Unread = utiljson.Unmarshal([]byte(text), &manifest) != nil || manifest == nil
		s.Base = r.LeavesOf(manifest)
	}
	for _, e := range u.GetManagedFields() {
		set := &fieldpath.Set{}
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return s, fmt.Errorf("the entry of %s: %w", e.Manager, err)
		}
		entry := Entry{Manager: e.Manager, Apply: e.Operation == metav1.ManagedFieldsOperationApply, Subresource: e.Subresource}
		set.Leaves().Iterate(func(p fieldpath.Path) {
			if path := p.String(); !slices.Contains(s.Managers[path], entry) {
				s.Managers[path] = append(s.Managers[path], entry)
			}
		})
	}
	return s, nil
}

// LeavesOf returns the leaf fields of an object or of a manifest, without its identity and last-applied. An element that a list has twice
// makes all lists leaves.
func (r Reader) LeavesOf(object map[string]any) Values {
	for _, converter := range []managedfields.TypeConverter{r.typed, r.deduced} {
		typed, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: object})
		if err != nil {
			continue
		}
		set, err := typed.ToFieldSet()
		if err != nil {
			continue
		}
		found := Values{}
		set.Leaves().Iterate(func(p fieldpath.Path) {
			if path := p.String(); !isIdentity(path) {
				found[path] = valueAt(object, p)
			}
		})
		return found
	}
	return Values{}
}

// isIdentity reports whether a field is one that no client sets, or that names the object.
func isIdentity(path string) bool {
	if rest, ok := strings.CutPrefix(path, ".metadata."); ok {
		return !strings.HasPrefix(rest, "labels") && !strings.HasPrefix(rest, "annotations") ||
			rest == "annotations."+corev1.LastAppliedConfigAnnotation
	}
	return path == ".apiVersion" || path == ".kind" || within(path, ".status")
}

// valueAt returns the value at a path that exists.
func valueAt(o any, p fieldpath.Path) any {
	for _, e := range p {
		switch v := o.(type) {
		case map[string]any:
			if e.FieldName != nil {
				o = v[*e.FieldName]
			}
		case []any:
			if i := slices.IndexFunc(v, func(v any) bool { return isElement(v, e) }); i >= 0 {
				o = v[i]
			}
		}
	}
	return o
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
			member = "TCP" // the only key with a default
		}
		if !value.Equals(value.NewValueInterface(member), field.Value) {
			return false
		}
	}
	return true
}

// Diff returns how a stored object differs from the ledger, a line for each field, in the fields that writes of the ledger have set.
func (o Object) Diff(s Stored) (lines []string) {
	for _, path := range slices.Sorted(maps.Keys(o.known)) {
		if !o.known[path] {
			continue
		}
		want, has := o.values[path]
		if is, ok := s.Values[path]; ok != has || !reflect.DeepEqual(is, want) {
			lines = append(lines, fmt.Sprintf("%s: want %v, got %v", path, want, is))
		}
		if wanted, is := sorted(o.managers[path]), sorted(s.Managers[path]); !slices.Equal(wanted, is) {
			lines = append(lines, fmt.Sprintf("%s: want the managers %v, got %v", path, wanted, is))
		}
		wantBase, inBase := o.base[path]
		if isBase, ok := s.Base[path]; ok != inBase || !reflect.DeepEqual(isBase, wantBase) {
			lines = append(lines, fmt.Sprintf("%s in last-applied: want %v, got %v", path, wantBase, isBase))
		}
	}
	return lines
}

func sorted(entries []Entry) (texts []string) {
	for _, e := range entries {
		texts = append(texts, fmt.Sprint(e))
	}
	slices.Sort(texts)
	return texts
}

// Learn returns the ledger with what is stored, and with what it knows of the past: the roles of managers, and what was applied last.
func (o Object) Learn(s Stored) Object {
	o.exists, o.values, o.managers, o.base, o.unread = true, s.Values, s.Managers, s.Base, s.Unread
	o.known = map[string]bool{}
	for path := range s.Values {
		o.known[path] = true
	}
	return o
}
