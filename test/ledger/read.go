package ledger

import (
	"encoding/base64"
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

	"github.com/ownership-handoff/handoff/test/document"
)

// Stored is what the API server has stored, in the terms of the ledger.
type Stored struct {
	Values   Values
	Managers map[string][]Entry
	// Base are the fields of the last-applied annotation, nil if there is none; Unread reports whether it cannot be read.
	Base   Values
	Unread bool
}

// Reader reads objects by their schemas.
type Reader struct{ schemas []managedfields.TypeConverter }

// NewReader returns a Reader by some schemas, or, for objects that they do not know or without any, by those of the built-in kinds. Lists
// of other kinds are leaves. It reads all schemas, so that a program needs only one.
func NewReader(schemas ...managedfields.TypeConverter) Reader {
	if len(schemas) == 0 {
		schemas = append(schemas, applyconfigurations.NewTypeConverter(scheme.Scheme))
	}
	return Reader{append(schemas, managedfields.NewDeducedTypeConverter())}
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

// LeavesOf returns the leaf fields of an object or of a manifest, without its identity and last-applied. The stringData of a Secret are its
// data.
func (r Reader) LeavesOf(object map[string]any) Values {
	leaves := r.Fields(object)[0]
	for path, value := range leaves {
		if key, ok := strings.CutPrefix(path, ".stringData."); ok && object["kind"] == "Secret" {
			delete(leaves, path)
			leaves[".data."+key] = base64.StdEncoding.EncodeToString(fmt.Append(nil, value))
		}
		if isIdentity(path) {
			delete(leaves, path)
		}
	}
	return leaves
}

// Fields returns all leaf fields of objects. Lists are leaves if one of the objects has no schema, or an element twice.
func (r Reader) Fields(objects ...map[string]any) []Values {
	for _, converter := range r.schemas {
		if all := fieldsBy(converter, objects); all != nil {
			return all
		}
	}
	return make([]Values, len(objects))
}

func fieldsBy(converter managedfields.TypeConverter, objects []map[string]any) []Values {
	all := make([]Values, 0, len(objects))
	for _, o := range objects {
		found := Values{}
		all = append(all, found)
		if o == nil {
			continue
		}
		typed, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: o})
		if err != nil {
			return nil
		}
		set, err := typed.ToFieldSet()
		if err != nil {
			return nil
		}
		set.Leaves().Iterate(func(p fieldpath.Path) { found[p.String()], _ = document.Get(o, p) })
	}
	return all
}

// isIdentity reports whether a field is one that no client sets, or that names the object.
func isIdentity(path string) bool {
	if rest, ok := strings.CutPrefix(path, ".metadata."); ok {
		return !strings.HasPrefix(rest, "labels") && !strings.HasPrefix(rest, "annotations") ||
			rest == "annotations."+corev1.LastAppliedConfigAnnotation
	}
	return path == ".apiVersion" || path == ".kind" || strings.HasPrefix(path, ".status")
}

// Diff returns how a stored object differs from the ledger in some fields, a line for each. Without paths, it compares all fields that
// either has, in the object or in last-applied.
func (o Object) Diff(s Stored, paths ...string) (lines []string) {
	if paths == nil {
		paths = slices.Concat(keys(o.known), keys(s.Values), keys(s.Base))
		slices.Sort(paths)
		paths = slices.DeleteFunc(slices.Compact(paths), isIdentity)
	}
	for _, path := range paths {
		if isKnown, isSet := o.known[path]; isSet && !isKnown {
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

func keys[V any](of map[string]V) []string { return slices.Collect(maps.Keys(of)) }

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
