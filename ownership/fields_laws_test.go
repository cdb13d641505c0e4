package ownership_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

// isAside is what OwnedFields leaves out, said in another way.
func isAside(path fieldpath.Path) bool {
	aside := []string{
		".apiVersion", ".kind", ".metadata.name", ".metadata.namespace", ".metadata.uid", ".metadata.resourceVersion", ".metadata.generation",
		".metadata.creationTimestamp", ".metadata.managedFields", ".metadata.generateName", ".metadata.selfLink", ".metadata.deletionTimestamp",
		".metadata.deletionGracePeriodSeconds", ".metadata.annotations." + ownership.LastAppliedAnnotation,
	}
	for n := range path {
		if path[n].FieldName == nil {
			return false
		}
		if slices.Contains(aside, path[:n+1].String()) {
			return true
		}
	}
	return false
}

// checkLaws checks what is true of every object's fields.
func checkLaws(t *testing.T, live ownership.Object, fields ownership.OwnedFields) {
	t.Helper()
	all := fieldpath.NewSet()
	for _, f := range fields {
		all.Insert(f.Path)
		if isAside(f.Path) {
			t.Errorf("%s is listed", f.Path)
		}
		if f.Value != nil && !bytes.Equal(live.Value(f.Path), f.Value) && !isUnsetTime(live, append(f.Path.Copy(), creationTime())) {
			t.Errorf("%s: %s is listed, %s is there", f.Path, f.Value, live.Value(f.Path))
		}
	}
	expect.Equal(t, "different fields", len(fields), all.Size())
	coversEntries(t, live, fields, all)
}

// coversEntries checks that every managed field is listed, or a field nested under it, or its position under another name.
func coversEntries(t *testing.T, live ownership.Object, fields ownership.OwnedFields, listed *fieldpath.Set) {
	t.Helper()
	entries, err := live.Entries()
	expect.NoError(t, err)
	onlyAside := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("metadata", "annotations"))
	for _, e := range entries {
		set, err := e.Set()
		expect.NoError(t, err)
		for path := range set.All() {
			if isAside(path) || isUnsetTime(live, path) || onlyAside.Has(path) || listed.Has(path) || !within(listed, path).Empty() {
				continue
			}
			at := live.At().Find(path)
			if at == nil || !slices.ContainsFunc(fields, func(f ownership.OwnedField) bool {
				return strings.HasPrefix(live.At().Find(f.Path).PointerIn(nil)+"/", at.PointerIn(nil)+"/")
			}) {
				t.Errorf("%s manages %s, which is not listed", e.Manager, path)
			}
		}
	}
}

// isUnsetTime reports whether a path is that of a creationTimestamp in metadata that the object lacks or has as null, or leads
// to a field nested under it.
func isUnsetTime(live ownership.Object, path fieldpath.Path) bool {
	for n := range path {
		if n > 0 && path[n-1].String() == ".metadata" && path[n].Equals(creationTime()) {
			value := live.Value(path[:n+1])
			return value == nil || string(value) == "null"
		}
	}
	return false
}

func creationTime() fieldpath.PathElement { return fieldpath.FieldNameElement("creationTimestamp") }

func within(set *fieldpath.Set, path fieldpath.Path) *fieldpath.Set {
	for _, element := range path {
		set = set.WithPrefix(element)
	}
	return set
}

func FuzzFields(f *testing.F) {
	files, err := filepath.Glob("../webhook/testdata/reviews/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no recorded reviews: ", err)
	}
	for _, file := range files {
		var review struct {
			Request struct{ OldObject json.RawMessage }
		}
		text, err := os.ReadFile(file) //nolint:gosec // what Glob has found
		if err == nil {
			err = json.Unmarshal(text, &review)
		}
		expect.NoError(f, err)
		if live := review.Request.OldObject; len(live) < 5000 {
			f.Add([]byte(live))
		}
	}
	for _, text := range []string{
		`{}`, `null`, `{"metadata":1}`, liveWith(`,"a":[1,1,{"name":"x"},{"name":"x"}]`, `{"a":[1,{"name":"x"}]}`,
			entryOf("me/Apply", "", `{"f:a":{"v:1":{},"k:{\"name\":\"x\"}":{".":{},"f:y":{}},"i:0":{}}}`)),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		live, err := ownership.ParseObject(text)
		if err != nil {
			return
		}
		context := ownership.ObjectContext{Managers: fieldManagers(), Scale: fieldpath.MakePathOrDie("spec", "replicas")}
		fields, err := context.OwnedFields(live)
		if err != nil {
			if !errors.Is(err, ownership.ErrManagedFields) && !errors.Is(err, ownership.ErrLastApplied) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		checkLaws(t, live, fields)
	})
}
