package ownership_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/jsontree"
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
		`{"spec":{"replicas":null}}`, `{"spec":["replicas"]}`,
	} {
		f.Add([]byte(seed))
	}
	for _, manifest := range []string{
		`{"spec":{"replicas":3}}`, `{"spec":{"replicas":null}}`, `{"spec":{"replicas":"null"}}`, `{"spec":{"image":"a"}}`, `{"spec":null}`, `{"spec":["replicas"]}`,
		`{"replicas":3,"spec":{"template":{"replicas":3}}}`, `{"sp\u0065c":{"replica\u0073":3}}`,
	} {
		f.Add([]byte(liveWith("", manifest)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := ownership.ParseObject(text)
		if err != nil {
			return
		}
		sameAsDecoded(t, jsontest.Decode(t, text), o)
		if fields, ok := o.Annotation(ownership.ControllerFieldsAnnotation).String(); ok {
			_, _ = ownership.ParseControllerFields(fields)
		}
		if manifest, ok := o.Annotation(ownership.LastAppliedAnnotation).String(); ok && manifest != "" { // which counts as none
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
	expect.Equal(t, "present", decoded != nil, o.Present())
	for _, c := range []struct {
		in, name string
		value    *jsontree.Node
	}{
		{"labels", optin.Label, o.At("metadata", "labels", optin.Label)}, {"annotations", optin.Annotation, o.Annotation(optin.Annotation)},
	} {
		want, has := at("metadata", c.in, c.name).(string)
		if got, ok := c.value.String(); got != want || ok != has {
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

func sameDeclaration(t *testing.T, manifest string) {
	t.Helper()
	created := object(t, liveWith("", manifest, entry("kubectl-client-side-apply", "Update", early, ownsLastApplied, "")))
	w := read(t, managers, "kubectl-client-side-apply", ownership.Object{}, created)
	if err := w.Manifests.Unread; err != nil {
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
	expect.Equal(t, manifest, want, w.Declared(replicas).Manifest)
}
