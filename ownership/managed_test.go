package ownership_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
)

func TestWithSet(t *testing.T) {
	const text = `{ "manager":"a","fieldsV1" : ` + ownsBoth + ` , "operation":"Update"}`
	e := entries(t, entry("b", "Update", early, "{}", ""), text)[1]
	set, err := e.Set()
	if err != nil {
		t.Fatal(err)
	}
	image := fieldpath.MakePathOrDie("spec", "image")
	if diff := cmp.Diff(fieldpath.NewSet(replicas, image).String(), set.String()); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	for sentence, c := range map[string]struct {
		set    *fieldpath.Set
		fields string
	}{
		"a smaller one": {fieldpath.NewSet(replicas), ownsReplicas},
		"a larger one":  {fieldpath.NewSet(replicas, image, fieldpath.MakePathOrDie("spec", "paused")), `{"f:spec":{"f:image":{},"f:paused":{},"f:replicas":{}}}`},
		"an empty one":  {fieldpath.NewSet(), "{}"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := e.WithSet(c.set)
			if err != nil {
				t.Fatal(err)
			}
			want := entries(t, strings.Replace(text, ownsBoth, c.fields, 1))[0]
			if diff := cmp.Diff(want, got, sameEntries); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
			back, err := got.WithSet(set)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text, string(back.Text)); diff != "" {
				t.Errorf("and back again (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(text, string(e.Text)); diff != "" {
				t.Errorf("the entry it was made of has changed (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := (ownership.Entry{Manager: "a", Text: []byte(`{"manager":"a"}`)}).WithSet(set); !errors.Is(err, ownership.ErrManagedFields) {
		t.Errorf("an entry without fieldsV1: want %v, got %v", ownership.ErrManagedFields, err)
	}
}
func TestNewEntry(t *testing.T) {
	for sentence, c := range map[string]struct {
		like ownership.Entry
		want string
	}{
		"with the version and the time of another": {
			ownership.Entry{Manager: "b", Operation: "Apply", APIVersion: "apps/v1", Time: early},
			entry("a", "Update", early, ownsReplicas, ""),
		},
		"without a time where the other has none": {
			ownership.Entry{APIVersion: "apps/v1"}, entry("a", "Update", "", ownsReplicas, ""),
		},
		"without a time where the other's is none": {
			ownership.Entry{APIVersion: "apps/v1", Time: "yesterday"}, entry("a", "Update", "", ownsReplicas, ""),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := managedfields.New("a", c.like, fieldpath.NewSet(replicas))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(entries(t, c.want)[0], got, sameEntries); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEntryThatAWriteToScaleSplitIsOne(t *testing.T) {
	const split = `{"manager":"a","operation":"Update","apiVersion":"v1","fieldsV1":{"f:spec":{"f:replicas":{}}}}`
	const rest = `{"manager":"a","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsV1":{"f:spec":{"f:image":{}}}}`
	const other = `{"manager":"b","operation":"Update","apiVersion":"v1","fieldsV1":{"f:spec":{"f:replicas":{}}}}`
	found, err := object(t, `{"metadata":{"managedFields":[`+split+`,`+other+`,`+rest+`]}}`).Entries()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range managedfields.Joined(found) {
		got = append(got, e.Manager+" "+e.Time+" "+string(e.Fields.Text()))
	}
	want := []string{`b  {"f:spec":{"f:replicas":{}}}`, `a 2026-01-02T03:04:05Z {"f:spec":{"f:image":{},"f:replicas":{}}}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
