package sequences_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/test/ledger"
)

const (
	lastApplied = corev1.LastAppliedConfigAnnotation
	counted     = "deprecated.daemonset.template.generation" // an annotation in which the API server counts templates
)

// stored is a stored object without what always differs between two namespaces: uid, times, resourceVersion, generation, the
// namespace's name and allocated addresses.
type stored struct {
	object map[string]any
	// entries are the fields of the managedFields entries, by manager, operation, apiVersion and subresource.
	entries map[string]*fieldpath.Set
	// base is the last-applied annotation.
	base string
}

func storedOf(o *unstructured.Unstructured) (s stored, err error) {
	if o == nil {
		return s, nil
	}
	c, err := rewritten(o, "UID", "NAMESPACE", func(text string) string { return times.ReplaceAllString(text, "2020-01-01T00:00:00Z") })
	if err != nil {
		return s, err
	}
	s.entries = map[string]*fieldpath.Set{}
	for _, e := range c.GetManagedFields() {
		set := &fieldpath.Set{}
		if e.FieldsV1 != nil {
			if err := set.FromJSON(strings.NewReader(string(e.FieldsV1.GetRawBytes()))); err != nil {
				return s, err
			}
		}
		if e.Manager != copier {
			if twice := s.entries[entryName(e)]; twice != nil { // a write to /scale that changes nothing splits an entry
				set = set.Union(twice)
			}
			s.entries[entryName(e)] = set.Difference(fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", counted)))
		}
	}
	annotations := c.GetAnnotations()
	s.base = "none"
	if base, ok := annotations[lastApplied]; ok {
		s.base = base
	}
	delete(annotations, lastApplied)
	delete(annotations, counted)
	if len(annotations) == 0 {
		annotations = nil
	}
	c.SetAnnotations(annotations)
	removeGenerated(c.Object)
	allocated(c.Object, func(parent map[string]any, name string) { parent[name] = "allocated" })
	s.object = c.Object
	return s, nil
}

// removeGenerated removes the metadata that the API server generates.
func removeGenerated(o map[string]any) {
	for _, name := range []string{"managedFields", "uid", "creationTimestamp", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(o, "metadata", name)
	}
}

// times matches a time, such as one that kubectl rollout restart writes.
var times = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// rewritten returns a copy of an object with another uid and namespace, also where other fields contain them, and with other changes to
// its text.
func rewritten(o *unstructured.Unstructured, uid, namespace string, changes ...func(text string) string) (*unstructured.Unstructured, error) {
	text, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	replaced := strings.ReplaceAll(string(text), o.GetNamespace(), namespace)
	for _, change := range changes {
		replaced = change(replaced)
	}
	if own := string(o.GetUID()); own != "" {
		replaced = strings.ReplaceAll(replaced, own, uid)
	}
	c := &unstructured.Unstructured{}
	err = c.UnmarshalJSON([]byte(replaced))
	return c, err
}

// allocated visits the addresses of a Service that the API server has allocated.
func allocated(o map[string]any, visit func(parent map[string]any, name string)) {
	spec, _ := o["spec"].(map[string]any)
	if o["kind"] != "Service" || spec == nil {
		return
	}
	ports, _ := spec["ports"].([]any)
	for _, parent := range append(slices.Clone(ports), spec) {
		members, _ := parent.(map[string]any)
		for _, name := range []string{"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"} {
			if v, ok := members[name]; ok && !strings.Contains(fmt.Sprint(v), "None") {
				visit(members, name)
			}
		}
	}
}

func entryName(e metav1.ManagedFieldsEntry) string {
	return strings.Join([]string{e.Manager, string(e.Operation), e.APIVersion, e.Subresource}, "|")
}

// differences are the paths in which two stored objects differ.
type differences struct {
	values, entries, base []string
	other                 string // a difference without a path
}

func compare(a, b stored) (d differences) {
	if !reflect.DeepEqual(a.object, b.object) {
		fields := cluster.reader.Fields(a.object, b.object)
		if d.values = unequal(fields[0], fields[1]); len(d.values) == 0 {
			d.other = "the order of a list: " + text(a.object) + " and " + text(b.object)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.entries)) {
		d.entries = append(d.entries, paths(name, symmetric(a.entries[name], b.entries[name]))...)
	}
	for _, name := range slices.Sorted(maps.Keys(b.entries)) {
		if a.entries[name] == nil {
			d.entries = append(d.entries, paths(name, symmetric(nil, b.entries[name]))...)
		}
	}
	if a.base != b.base {
		left, right := declaredIn(a.base), declaredIn(b.base)
		if left == nil || right == nil {
			d.base = []string{"unreadable or missing"}
			return d
		}
		fields := cluster.reader.Fields(left, right)
		if d.base = unequal(fields[0], fields[1]); len(d.base) == 0 {
			d.other = "the text of last-applied: " + a.base + " and " + b.base
		}
	}
	return d
}

// unequal returns the fields in which two objects differ. An empty map and one with fields differ only in these fields.
func unequal(a, b ledger.Values) (all []string) {
	for _, sides := range [][2]ledger.Values{{a, b}, {b, a}} {
		for p, v := range sides[0] {
			other, has := sides[1][p]
			filled := text(v) == "{}" && slices.ContainsFunc(slices.Collect(maps.Keys(sides[1])), func(q string) bool { return within(q, p) })
			if has && !reflect.DeepEqual(v, other) || !has && !filled {
				all = append(all, p)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// declaredIn returns the object in a last-applied annotation, or nil.
func declaredIn(base string) (o map[string]any) {
	if err := utiljson.Unmarshal([]byte(base), &o); err != nil {
		return nil
	}
	return o
}

func symmetric(a, b *fieldpath.Set) *fieldpath.Set {
	if a == nil {
		a = &fieldpath.Set{}
	}
	if b == nil {
		b = &fieldpath.Set{}
	}
	return a.Difference(b).Union(b.Difference(a))
}

// paths returns the paths of a set after the name of its entry and a space. An entry without fields counts as its name.
func paths(name string, set *fieldpath.Set) (all []string) {
	set.Iterate(func(p fieldpath.Path) { all = append(all, name+" "+p.String()) })
	return all
}

// within reports whether a path is another path or nested under it.
func within(p, parent string) bool {
	rest, ok := strings.CutPrefix(p, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return short(string(raw))
}

// short replaces the middle of a long run of one letter.
func short(s string) string {
	return longRun.ReplaceAllStringFunc(s, func(run string) string { return fmt.Sprintf("%s(%d)", run[:1], len(run)) })
}
