package managedfields_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// FuzzOf reads whatever managedFields can hold, and compares the entries with those that the API server's decoder reads.
func FuzzOf(f *testing.F) {
	for _, seed := range []string{
		"null", `"no list"`, `[{"manager":"b","operation":"Update","apiVersion":"apps/v1","subresource":"scale","fieldsType":"FieldsV1","fieldsV1":` + ownsReplicas + `}]`,
		`[{"manager":"a","operation":"Apply","time":"` + early + `","fieldsV1":` + ownsBoth + `},{},{"manager":"a","fieldsV1":null},{"manager":"a","fieldsV1":{}}]`,
		`[{"manager":"a","fieldsV1":{"k:{\"name\":\"a\"}":{".":{}},"v:1":{},"i:0":{},"x":{},"":1}}]`, `[{"manager":null,"time":null},{"future":[1]}]`,
		`[{"manager":"a","fieldsV1":{"x:spec":{"x:replicas":{}}}}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := jsontree.Parse(text)
		if err != nil {
			return
		}
		entries, err := of(string(text))
		if err != nil {
			if !errors.Is(err, managedfields.ErrUnreadable) {
				t.Errorf("want %v, got %v", managedfields.ErrUnreadable, err)
			}
			return
		}
		var decoded []metav1.ManagedFieldsEntry
		isDecoded := kjson.UnmarshalCaseSensitivePreserveInts(list.Text(), &decoded) == nil
		for i, e := range entries {
			if isDecoded {
				sameEntry(t, decoded[i], e)
			}
			if set, err := e.Set(); err == nil {
				keepsSet(t, e, set)
			}
		}
	})
}

// keepsSet checks that an entry with its own set has it.
func keepsSet(t *testing.T, e managedfields.Entry, set *fieldpath.Set) {
	t.Helper()
	// Only what a set has a name for can be asked for.
	if set.Has(replicas) && !e.Contains(replicas) {
		t.Errorf("the set %s has replicas, and the entry does not contain it: %s", set, e.Text)
	}
	if e.Fields == nil {
		return
	}
	with, err := e.WithSet(set)
	expect.NoError(t, err)
	same, err := entriesOf(t, "["+string(with.Text)+"]")[0].Set()
	if err != nil || !same.Equals(set) {
		t.Errorf("the set %s has become %s: %v", set, same, err)
	}
}

func sameEntry(t *testing.T, want metav1.ManagedFieldsEntry, got managedfields.Entry) {
	t.Helper()
	wanted := []string{want.Manager, string(want.Operation), want.APIVersion, want.Subresource}
	expect.Equal(t, "entry", wanted, []string{got.Manager, got.Operation, got.APIVersion, got.Subresource})
	set := &fieldpath.Set{}
	if want.FieldsV1 != nil && set.FromJSON(want.FieldsV1.GetRawReader()) != nil {
		return
	}
	if same, err := got.Set(); err != nil || !same.Equals(set) {
		t.Errorf("want the set %s, got %s, %v: %s", set, same, err, got.Text)
	}
}
