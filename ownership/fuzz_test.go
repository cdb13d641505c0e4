package ownership_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/document"
)

// FuzzRead reads whatever an object can hold, and compares what is read with the decoded object.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"null", "{}", `""`, "[]", `{"metadata":null,"spec":{}}`, `{"metadata":[{"uid":"a"}]}`, `{"metadata":"uid"}`, `{"metadata":{"uid":1}}`,
		`{"metadata":{"annotations":null,"managedFields":null,"uid":"a"}}`, `{"metadata":{"labels":null,"uid":"a"}}`,
		`{"metadata":{"annotations":["ownership-handoff.io/mode"],"labels":["ownership-handoff.io/mode"]}}`,
		`{"metadata":{"annotations":{"ownership-handoff.io/mode":1,"ownership-handoff.io/controller-fields":null},"labels":{"ownership-handoff.io/mode":1}}}`,
		`{"metadata":{"annotations":{"ownership-handoff.io/mode":"","kubectl.kubernetes.io/last-applied-configuration":{}},"labels":{"ownership-handoff.io/mode":""}}}`,
		`{"labels":{"ownership-handoff.io/mode":"off"},"annotations":{"ownership-handoff.io/mode":"a"},"spec":{"metadata":{"uid":"a"}},"metadata":{"labels":{"a":{}}}}`,
		`{"metadata":{"annotations":{"ownership-handoff.io/mode":"enforce","ownership-handoff.io/controller-fields":".spec.replicas,.a[b=1]"},"labels":{"ownership-handoff.io/mode":"off"}},"spec":{"replicas":3}}`,
		"\n{ \"metadata\" : { \"uid\":\"u\",\"annotations\":{" + `"kubectl.kubernetes.io/last-\u0061pplied-configuration" : "{\"a\":1}","other":"x"}},"spec":{"replicas": 3 }}` + "\n",
		`{"metadata":{"managedFields":[` + entry("a", "Apply", early, ownsBoth, "") + "," + entry("b", "Update", "", ownsReplicas, "scale") + `]}}`,
		`{"metadata":{"managedFields":[{"manager":"a","fieldsV1":{"k:{\"name\":\"a\"}":{".":{}},"v:1":{},"i:0":{},"x":{},"":1}}]}}`,
		`{"metadata":{"managedFields":[{},{"manager":"a","fieldsV1":null},{"manager":"a","fieldsV1":{}},{"manager":null,"time":null},{"future":[1]}]}}`,
		`{"metadata":{"managedFields":[{"manager":"a","fieldsV1":{"x:spec":{"x:replicas":{}}}}]}}`, `{"metadata":{"managedFields":"no list"}}`,
		`{"spec":{"replicas":null}}`, `{"spec":["replicas"]}`,
	} {
		f.Add([]byte(seed))
	}
	for _, manifest := range []string{
		`{"spec":{"replicas":3}}`, `{"spec":{"replicas":null}}`, `{"spec":{"replicas":"null"}}`, `{"spec":{"image":"a"}}`, `{"spec":null}`, `{"spec":["replicas"]}`,
		`{"replicas":3,"spec":{"template":{"replicas":3}}}`, `{"sp\u0065c":{"replica\u0073":3}}`,
	} {
		f.Add([]byte(`{"metadata":{"annotations":{"` + ownership.LastAppliedAnnotation + `":` + quoted(manifest) + `}}}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := ownership.ParseObject(text)
		if err != nil {
			return
		}
		sameAsDecoded(t, jsontest.Decode(t, text), o)
		if fields, ok := o.ControllerFields(); ok {
			_, _ = ownership.ParseControllerFields(fields)
		}
		readEntries(t, o)
		if manifest, ok := o.LastApplied(); ok {
			sameDeclaration(t, manifest)
		}
	})
}

func sameAsDecoded(t *testing.T, decoded any, o ownership.Object) {
	t.Helper()
	at := func(path ...any) any {
		found, _ := document.Get(decoded, fieldpath.MakePathOrDie(path...))
		return found
	}
	if o.Present() != (decoded != nil) {
		t.Errorf("want present %t, got %t", decoded != nil, o.Present())
	}
	for _, c := range []struct {
		in, name string
		read     func() (string, bool)
	}{
		{"labels", optin.Label, o.ModeLabel}, {"annotations", optin.Annotation, o.ModeAnnotation},
		{"annotations", ownership.ControllerFieldsAnnotation, o.ControllerFields}, {"annotations", ownership.LastAppliedAnnotation, o.LastApplied},
	} {
		want, has := at("metadata", c.in, c.name).(string)
		if got, ok := c.read(); got != want || ok != has {
			t.Errorf("%s %s: want %q, %t, got %q, %t", c.in, c.name, want, has, got, ok)
		}
	}
	under := fieldpath.MakePathOrDie("spec", "replicas", "under")
	for _, path := range []fieldpath.Path{under, under[:2], under[:1], fieldpath.MakePathOrDie("metadata", "managedFields")} {
		want, has := document.Get(decoded, path)
		if got := o.Value(path); (got != nil) != has || has && !cmp.Equal(want, jsontest.Decode(t, got)) {
			t.Errorf("%s: want %v, %t, got %s", path, want, has, got)
		}
	}
}

// readEntries compares the entries with those that the API server's decoder reads.
func readEntries(t *testing.T, o ownership.Object) {
	t.Helper()
	entries, err := o.Entries()
	if err != nil {
		if !errors.Is(err, ownership.ErrManagedFields) {
			t.Errorf("want %v, got %v", ownership.ErrManagedFields, err)
		}
		return
	}
	var decoded []metav1.ManagedFieldsEntry
	isDecoded := kjson.UnmarshalCaseSensitivePreserveInts(o.ManagedFields(), &decoded) == nil
	for i, e := range entries {
		set, err := e.Set()
		if isDecoded {
			sameEntry(t, decoded[i], e)
		}
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

func sameEntry(t *testing.T, want metav1.ManagedFieldsEntry, got ownership.Entry) {
	t.Helper()
	wanted := []string{want.Manager, string(want.Operation), want.APIVersion, want.Subresource}
	if diff := cmp.Diff(wanted, []string{got.Manager, got.Operation, got.APIVersion, got.Subresource}); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	set := &fieldpath.Set{}
	if want.FieldsV1 != nil && set.FromJSON(want.FieldsV1.GetRawReader()) != nil {
		return
	}
	if same, err := got.Set(); err != nil || !same.Equals(set) {
		t.Errorf("want the set %s, got %s, %v: %s", set, same, err, got.Text)
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
	decoded := jsontest.Decode(t, []byte(manifest))
	spec, hasSpec := document.Get(decoded, replicas[:1])
	value, has := document.Get(decoded, replicas)
	want := ownership.Lacks
	switch {
	case hasSpec && spec == nil, has && value == nil:
		want = ownership.Clears
	case has:
		want = ownership.Sets
	}
	if want != declared {
		t.Errorf("%s: want %d, got %d", manifest, want, declared)
	}
}
