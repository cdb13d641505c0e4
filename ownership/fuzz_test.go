package ownership_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/ownership-handoff/handoff/ownership"
)

// FuzzRead reads whatever an object can hold. What the API server's decoder reads as an object of the API's types is read as the
// same here.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"null", "{}", `""`, "[]", `{"metadata":null}`, `{"metadata":{"annotations":null,"managedFields":null}}`,
		`{"metadata":{"annotations":{"ownership-handoff.io/mode":"enforce","ownership-handoff.io/controller-fields":".spec.replicas,.a[b=1]"},"labels":{"ownership-handoff.io/mode":"off"}},"spec":{"replicas":3}}`,
		`{"metadata":{"uid":"u","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"replicas\":3}}"}}}`,
		`{"metadata":{"managedFields":[` + entry("a", "Apply", early, ownsBoth, "") + "," + entry("b", "Update", "", ownsReplicas, "scale") + `]}}`,
		`{"metadata":{"managedFields":[{"manager":"a","fieldsV1":{"k:{\"name\":\"a\"}":{".":{}},"v:1":{},"i:0":{},"x":{},"":1}}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := ownership.ParseObject(text)
		if err != nil {
			return
		}
		var want metav1.PartialObjectMetadata
		if kjson.UnmarshalCaseSensitivePreserveInts(text, &want) == nil && o.Present() {
			sameAnnotations(t, want.Annotations, o)
			if got, _ := o.ModeLabel(); got != want.Labels[ownership.ModeLabel] {
				t.Errorf("mode label: want %q, got %q", want.Labels[ownership.ModeLabel], got)
			}
			if diff := cmp.Diff(string(want.UID), o.UID()); diff != "" {
				t.Errorf("uid (-want +got):\n%s", diff)
			}
		}
		_ = o.Value(replicas)
		if fields, ok := o.ControllerFields(); ok {
			_, _ = ownership.ParseControllerFields(fields)
		}
		readEntries(t, o)
		if manifest, ok := o.LastApplied(); ok {
			sameDeclaration(t, manifest)
		}
	})
}

func sameAnnotations(t *testing.T, want map[string]string, o ownership.Object) {
	t.Helper()
	for name, read := range map[string]func() (string, bool){
		ownership.ModeAnnotation: o.ModeAnnotation, ownership.ControllerFieldsAnnotation: o.ControllerFields,
		ownership.LastAppliedAnnotation: o.LastApplied,
	} {
		// null is an empty string to a decoder, and no annotation here: the API server stores neither.
		if got, _ := read(); got != want[name] {
			t.Errorf("%s: want %q, got %q", name, want[name], got)
		}
	}
}

func readEntries(t *testing.T, o ownership.Object) {
	t.Helper()
	entries, err := o.Entries()
	if err != nil {
		if !errors.Is(err, ownership.ErrManagedFields) {
			t.Errorf("want %v, got %v", ownership.ErrManagedFields, err)
		}
		return
	}
	for _, e := range entries {
		set, err := e.Set()
		if err != nil {
			continue
		}
		// Only what a set has a name for can be asked for.
		if set.Has(replicas) && !e.Contains(replicas) {
			t.Errorf("the set %s has replicas, and the entry does not hold it: %s", set, e.Text)
		}
		if e.Fields == nil {
			continue
		}
		with, err := e.WithSet(set)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseEntries("[" + string(with.Text) + "]")
		if err != nil || len(again) != 1 {
			t.Fatalf("an entry with its own set is none any more: %v: %s", err, with.Text)
		}
		same, err := again[0].Set()
		if err != nil || !same.Equals(set) {
			t.Errorf("the set %s has become %s: %v", set, same, err)
		}
	}
}

func sameDeclaration(t *testing.T, manifest string) {
	t.Helper()
	declared, err := declaredInLastApplied(t, manifest, replicas)
	if err != nil {
		if !errors.Is(err, ownership.ErrLastApplied) {
			t.Errorf("want %v, got %v", ownership.ErrLastApplied, err)
		}
		return
	}
	var decoded map[string]any
	if err := json.Unmarshal([]byte(manifest), &decoded); err != nil {
		t.Fatalf("a declared in what is no JSON object: %v: %s", err, manifest)
	}
	spec, _ := decoded["spec"].(map[string]any)
	value, there := spec["replicas"]
	want := ownership.Lacks
	switch {
	case there && value == nil:
		want = ownership.Clears
	case there:
		want = ownership.Sets
	}
	if want != declared {
		t.Errorf("%s: want %d, got %d", manifest, want, declared)
	}
}
