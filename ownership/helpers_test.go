package ownership_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
)

const (
	early = "2026-01-02T03:04:05Z"
	late  = "2026-01-02T03:04:06Z"

	ownsReplicas    = `{"f:spec":{"f:replicas":{}}}`
	ownsImage       = `{"f:spec":{"f:image":{}}}`
	ownsBoth        = `{"f:spec":{"f:image":{},"f:replicas":{}}}`
	ownsLastApplied = `{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`
)

var replicas = fieldpath.MakePathOrDie("spec", "replicas")

// entry writes an entry of metadata.managedFields as the API server does; what is empty is left out.
func entry(manager, operation, at, fields, subresource string) string {
	parts := []string{`"manager":` + quoted(manager), `"operation":` + quoted(operation), `"apiVersion":"apps/v1"`}
	if at != "" {
		parts = append(parts, `"time":`+quoted(at))
	}
	parts = append(parts, `"fieldsType":"FieldsV1"`, `"fieldsV1":`+fields)
	if subresource != "" {
		parts = append(parts, `"subresource":`+quoted(subresource))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func entries(t *testing.T, texts ...string) []ownership.Entry {
	t.Helper()
	parsed, err := parseEntries("[" + strings.Join(texts, ",") + "]")
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// parseEntries returns the entries of an object that has nothing but managedFields, or nothing at all for an empty text.
func parseEntries(managedFields string) ([]ownership.Entry, error) {
	text := "{}"
	if managedFields != "" {
		text = `{"metadata":{"managedFields":` + managedFields + `}}`
	}
	o, err := ownership.ParseObject([]byte(text))
	if err != nil {
		return nil, err
	}
	return o.Entries()
}

func object(t *testing.T, text string) ownership.Object {
	t.Helper()
	o, err := ownership.ParseObject([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

// declaredInLastApplied returns what a manifest says about a field, when client-side apply creates an object with it.
func declaredInLastApplied(t *testing.T, manifest string, path fieldpath.Path) (ownership.Declaration, error) {
	t.Helper()
	sender := ownership.Sender{
		Writer: ownership.Applier,
		Entry:  entries(t, entry("kubectl-client-side-apply", managedfields.OperationUpdate, early, ownsLastApplied, ""))[0],
	}
	created := object(t, `{"metadata":{"annotations":{"`+ownership.LastAppliedAnnotation+`":`+quoted(manifest)+`}}}`)
	w := ownership.Write{ObjectContext: ownership.ObjectContext{Managers: managers}, Sender: sender, Incoming: created}
	w.Manifests = w.ReadManifests()
	return w.Declared(path).Manifest, w.Manifests.Unread
}

// sameEntries compares entries of different objects.
var sameEntries = cmp.Options{
	cmpopts.IgnoreFields(ownership.Entry{}, "Object"),
	cmp.Comparer(func(a, b *jsontree.Node) bool { return bytes.Equal(a.Text(), b.Text()) }),
}
