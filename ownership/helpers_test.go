package ownership_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
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

// entry writes an entry of metadata.managedFields.
func entry(manager, operation, at, fields, subresource string) string {
	return fmt.Sprintf(`{"manager":%q,"operation":%q,"subresource":%q,"apiVersion":"apps/v1","time":%q,"fieldsType":"FieldsV1","fieldsV1":%s}`,
		manager, operation, subresource, at, fields)
}

func object(tb testing.TB, text string) ownership.Object {
	tb.Helper()
	o, err := ownership.ParseObject([]byte(text))
	if err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	return o
}

// read returns a write by a field manager, with what the objects record.
func read(t *testing.T, m ownership.Managers, fieldManager string, live, incoming ownership.Object) ownership.Write {
	t.Helper()
	w := ownership.Write{ObjectContext: ownership.ObjectContext{Managers: m}, FieldManager: fieldManager, Live: live, Incoming: incoming}
	expect.NoError(t, w.Read())
	return w
}

// search returns what is known about the fields of a write.
func search(t *testing.T, w ownership.Write) *ownership.Search {
	t.Helper()
	s, err := w.Search()
	expect.NoError(t, err)
	return s
}

// ruled returns managers for an object with rules.
func ruled(m ownership.Managers, list ...ownership.Rule) ownership.Managers {
	rules, _ := ownership.NewRules(list...).For(schema.GroupKind{}, "", ownership.Object{})
	return m.WithRules(rules, m.Scale)
}
