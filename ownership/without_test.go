package ownership_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// TestWithoutIsTheDifferenceOfFieldSets compares edited texts with the encoding of decoded and edited field sets.
func TestWithoutIsTheDifferenceOfFieldSets(t *testing.T) {
	edited := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret is made of it
		paths := []fieldpath.Path{
			fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("spec", "replicas"), fieldpath.MakePathOrDie("spec", "a"),
			fieldpath.MakePathOrDie("spec", "a", "b"), fieldpath.MakePathOrDie("spec", "a", "b", "c"), fieldpath.MakePathOrDie("status"),
			fieldpath.MakePathOrDie("spec", "a", fieldpath.KeyByFields("name", "x")), fieldpath.MakePathOrDie("spec", "list", 1),
		}
		set := fieldpath.NewSet()
		for range 1 + random.IntN(5) {
			set.Insert(paths[random.IntN(len(paths))])
		}
		fields, err := set.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		e := entries(t, `{"manager":"m","fieldsV1":`+string(fields)+`,"operation":"Update"}`)[0]
		path := paths[random.IntN(len(paths))]
		got, whole, ok := e.Without(path)
		if !ok {
			continue
		}
		edited++
		left := set.RecursiveDifference(fieldpath.NewSet(path))
		want, err := e.WithSet(left)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want.Text), string(got.Text)); diff != "" {
			t.Errorf("%s without %s (-want +got):\n%s", fields, path, diff)
		}
		if diff := cmp.Diff(string(want.Fields), string(got.Fields)); diff != "" {
			t.Errorf("%s without %s: fields (-want +got):\n%s", fields, path, diff)
		}
		if whole != left.Empty() {
			t.Errorf("%s without %s: whole is %t", fields, path, whole)
		}
	}
	if edited < 100 {
		t.Errorf("only %d texts were edited", edited)
	}
}

func TestWithoutChecksTheFieldSet(t *testing.T) {
	for sentence, fields := range map[string]string{
		"an element that cannot be parsed":      `{"f:spec":{"f:replicas":{},"x:y":{}}}`,
		"a key that is not an object":           `{"f:spec":{"f:replicas":{},"k:[]":{}}}`,
		"a key without fields":                  `{"f:spec":{"f:replicas":{},"k:{}":{}}}`,
		"a set that is a number":                `{"f:spec":{"f:replicas":{},"f:a":1}}`,
		"a name without a prefix":               `{"f:spec":{"f:replicas":{},"a":{}}}`,
		"a key of floats, which are normalized": `{"f:spec":{"f:replicas":{},"k:{\"a\":1.0}":{}}}`,
	} {
		e := entries(t, `{"manager":"m","fieldsV1":`+fields+`,"operation":"Update"}`)[0]
		if _, _, ok := e.Without(fieldpath.MakePathOrDie("spec", "replicas")); ok {
			t.Errorf("%s: the text is edited", sentence)
		}
	}
	if _, _, ok := (ownership.Entry{}).Without(fieldpath.MakePathOrDie("spec")); ok {
		t.Error("an entry without fields is edited")
	}
}
