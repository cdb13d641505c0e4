package webhook_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/test/document"
)

// The functions of this file turn the writes of a history into objects, with the libraries of the API server and of kubectl.

func objectOf(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	return u
}

func unstructuredOf(object map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object}
}

// stored returns the object that a write stores, with at as the time of the entries that the write has updated.
func (k objectKind) stored(tb testing.TB, live *unstructured.Unstructured, result runtime.Object, err error, at metav1.Time) string {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	u, ok := result.(*unstructured.Unstructured)
	if !ok {
		tb.Fatalf("want an unstructured object, got %T", result)
	}
	k.withDefault(u)
	entries := u.GetManagedFields()
	for i, e := range entries {
		known := func(was metav1.ManagedFieldsEntry) bool { return was.Time.Equal(e.Time) }
		if e.Time != nil && !slices.ContainsFunc(live.GetManagedFields(), known) {
			entries[i].Time = &at
		}
	}
	u.SetManagedFields(entries)
	return encode(u.Object)
}

// withDefault defaults the scale field.
func (k objectKind) withDefault(u *unstructured.Unstructured) {
	if _, found := document.Get(u.Object, k.scale); k.defaulted && !found {
		document.Set(u.Object, k.scale, int64(1))
	}
}

// update is a write of a manager that sends the whole object.
func (k objectKind) update(tb testing.TB, live, incoming, manager string, at metav1.Time) string {
	tb.Helper()
	was, is := objectOf(tb, live), objectOf(tb, incoming)
	k.withDefault(is)
	result, err := k.fields.Update(was.DeepCopy(), is, manager)
	return k.stored(tb, was, result, err, at)
}

// scaleTo is a write through the scale subresource. A write of 0 leaves no entry with the field, and neither does any other if no
// manager has the field (ToParent in k8s.io/apimachinery/pkg/util/managedfields/scalehandler.go).
func (k objectKind) scaleTo(tb testing.TB, live, manager string, replicas int64, at metav1.Time) string {
	tb.Helper()
	was := objectOf(tb, live)
	is := was.DeepCopy()
	document.Set(is.Object, k.scale, replicas)
	isManaged := k.entriesWithScale(tb, live) > 0
	result, err := k.scaleField.Update(was.DeepCopy(), is, manager)
	text := k.stored(tb, was, result, err, at)
	if replicas != 0 && isManaged {
		return text
	}
	u := objectOf(tb, text)
	u.SetManagedFields(k.withoutScale(tb, u.GetManagedFields()))
	return encode(u.Object)
}

func (k objectKind) entriesWithScale(tb testing.TB, object string) (n int) {
	tb.Helper()
	for _, e := range objectOf(tb, object).GetManagedFields() {
		if setOf(tb, e).Has(k.scale) {
			n++
		}
	}
	return n
}

func (k objectKind) withoutScale(tb testing.TB, entries []metav1.ManagedFieldsEntry) (without []metav1.ManagedFieldsEntry) {
	tb.Helper()
	for _, e := range entries {
		set := setOf(tb, e).Difference(fieldpath.NewSet(k.scale))
		if set.Empty() {
			continue
		}
		text, err := set.ToJSON()
		if err != nil {
			tb.Fatal(err)
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(text))
		without = append(without, e)
	}
	return without
}

func setOf(tb testing.TB, e metav1.ManagedFieldsEntry) *fieldpath.Set {
	tb.Helper()
	set := fieldpath.NewSet()
	if err := set.FromJSON(strings.NewReader(e.FieldsV1.GetRawString())); err != nil {
		tb.Fatal(err)
	}
	return set
}

// merged is the result of kubectl's three-way merge, which Helm 3 uses as well. An empty base stands for none.
func (k objectKind) merged(tb testing.TB, base, manifest, live string) string {
	tb.Helper()
	var result []byte
	if k.merging == nil {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(base), []byte(manifest), []byte(live))
		if err == nil {
			result, err = jsonpatchv4.MergePatch([]byte(live), patch)
		}
		if err != nil {
			tb.Fatal(err)
		}
		return string(result)
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(k.merging)
	if err != nil {
		tb.Fatal(err)
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch([]byte(base), []byte(manifest), []byte(live), meta, true)
	if err == nil {
		result, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta([]byte(live), patch, meta)
	}
	if err != nil {
		tb.Fatalf("%v: %s onto %s", err, manifest, live)
	}
	return string(result)
}

// annotated returns a manifest with itself in the last-applied annotation.
func annotated(tb testing.TB, manifest string) string {
	tb.Helper()
	return withAnnotation(tb, manifest, lastApplied, manifest)
}

func withAnnotation(tb testing.TB, object, name, value string) string {
	tb.Helper()
	u := objectOf(tb, object)
	document.Set(u.Object, pathOf("metadata", "annotations", name), value)
	return encode(u.Object)
}

// applyServerSide is a forced server-side apply.
func (k objectKind) applyServerSide(tb testing.TB, live, manifest, manager string, at metav1.Time) string {
	tb.Helper()
	was := objectOf(tb, live)
	result, err := k.fields.Apply(was.DeepCopy(), objectOf(tb, manifest), manager, true)
	return k.stored(tb, was, result, err, at)
}

// lastAppliedIn returns the last-applied annotation of an object, "" for none.
func lastAppliedIn(object map[string]any) string {
	text, _ := document.Get(object, pathOf("metadata", "annotations", lastApplied))
	value, _ := text.(string)
	return value
}

func sameJSON(a, b any) bool { return encode(a) == encode(b) }

func unmarshal(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	return object
}

// unmarshalOrNil returns nil for what is not the JSON of an object.
func unmarshalOrNil(text string) map[string]any {
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return nil
	}
	return object
}
