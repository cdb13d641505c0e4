package managedfields_test

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

const (
	early        = "2026-01-02T03:04:05Z"
	ownsReplicas = `{"f:spec":{"f:replicas":{}}}`
	ownsBoth     = `{"f:spec":{"f:image":{},"f:replicas":{}}}`
)

var image, replicas = fieldpath.MakePathOrDie("spec", "image"), fieldpath.MakePathOrDie("spec", "replicas")

func of(managedFields string) ([]managedfields.Entry, error) {
	return managedfields.Of(jsontree.Valid([]byte(`{"metadata":{"managedFields":` + managedFields + `}}`)))
}

func entriesOf(t *testing.T, managedFields string) []managedfields.Entry {
	t.Helper()
	entries, err := of(managedFields)
	expect.NoError(t, err)
	return entries
}

func TestEntriesThatCannotBeRead(t *testing.T) {
	for sentence, c := range map[string]struct{ managedFields, want string }{
		"no list":                    {`{}`, "not a list"},
		"an entry that is a number":  {`[{},1]`, "entry 2: not a JSON object"},
		"a manager that is a number": {`[{"manager":1}]`, "entry 1: not a string"},
		"a set that is a list":       {`[{"fieldsV1":[]}]`, "entry 1: fieldsV1: not a JSON object"},
	} {
		_, err := of(c.managedFields)
		if want := "metadata.managedFields cannot be read: " + c.want; !errors.Is(err, managedfields.ErrUnreadable) || err.Error() != want {
			t.Errorf("%s: want %v with the text %q, got %v", sentence, managedfields.ErrUnreadable, want, err)
		}
	}
}

// TestWithSet verifies that nothing but the set changes in the text of an entry.
func TestWithSet(t *testing.T) {
	const text = `{ "manager":"a","fieldsV1" : ` + ownsBoth + ` , "operation":"Update"}`
	e := entriesOf(t, "[{},"+text+"]")[1]
	for sentence, c := range map[string]struct {
		set  *fieldpath.Set
		want string
	}{
		"a smaller one": {fieldpath.NewSet(replicas), ownsReplicas},
		"a larger one":  {fieldpath.NewSet(replicas, image, fieldpath.MakePathOrDie("spec", "paused")), `{"f:spec":{"f:image":{},"f:paused":{},"f:replicas":{}}}`},
		"an empty one":  {fieldpath.NewSet(), "{}"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := e.WithSet(c.set)
			expect.NoError(t, err)
			want := []string{strings.Replace(text, ownsBoth, c.want, 1), c.want, text}
			expect.Equal(t, "the entry, its fields, and the original entry", want, []string{string(got.Text), string(got.Fields.Text()), string(e.Text)})
		})
	}
	if _, err := entriesOf(t, `[{"manager":"a"}]`)[0].WithSet(fieldpath.NewSet()); !errors.Is(err, managedfields.ErrUnreadable) {
		t.Errorf("an entry without fieldsV1: want %v, got %v", managedfields.ErrUnreadable, err)
	}
}

func TestNew(t *testing.T) {
	for sentence, c := range map[string]struct{ time, want string }{
		"with the time of another entry":              {early, `"time":"` + early + `",`},
		"without a time where the other has none":     {"", ""},
		"without a time where the other's is invalid": {"yesterday", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			like := managedfields.Entry{Manager: "b", Operation: managedfields.OperationApply, APIVersion: "apps/v1", Time: c.time}
			got, err := managedfields.New("a", like, fieldpath.NewSet(replicas))
			expect.NoError(t, err)
			want := `{"manager":"a","operation":"Update","apiVersion":"apps/v1",` + c.want + `"fieldsType":"FieldsV1","fieldsV1":` + ownsReplicas + `}`
			expect.Equal(t, "entry", want, string(got.Text))
		})
	}
}

func TestAnEntryThatAWriteToScaleSplitIsOne(t *testing.T) {
	const split = `{"manager":"a","operation":"Update","apiVersion":"v1","fieldsV1":{"f:spec":{"f:replicas":{}}}}`
	const rest = `{"manager":"a","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsV1":{"f:spec":{"f:image":{}}}}`
	const other = `{"manager":"b","operation":"Update","apiVersion":"v1","fieldsV1":{"f:spec":{"f:replicas":{}}}}`
	got := managedfields.Encode(managedfields.Joined(entriesOf(t, `[`+split+`,`+other+`,`+rest+`]`)))
	expect.Equal(t, "entries", `[`+other+`,`+strings.Replace(rest, `{"f:spec":{"f:image":{}}}`, ownsBoth, 1)+`]`, string(got))
}
