package merge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

const (
	early = "2026-01-02T03:04:05Z"
	late  = "2026-01-02T03:04:09Z"
)

var (
	replicas = fieldpath.MakePathOrDie("spec", "replicas")
	managers = ownership.Managers{
		Appliers:   []string{"kubectl-client-side-apply", "helm"},
		Imperative: []string{"kubectl", "kubectl-edit"},
	}
)

// stored is an object as the API server encodes it. What is empty is not in it.
type stored struct {
	lastApplied string
	entries     []string
	spec        string
}

func (s stored) text() string {
	metadata := `"name":"web"`
	if s.lastApplied != "" {
		metadata += fmt.Sprintf(`,"annotations":{"a":"1",%q:%q}`, ownership.LastAppliedAnnotation, s.lastApplied)
	}
	if s.entries != nil {
		metadata += `,"managedFields":` + list(s.entries...)
	}
	return `{"metadata":{` + metadata + `},"spec":` + s.spec + `}`
}

func list(texts ...string) string { return "[" + strings.Join(texts, ",") + "]" }

// entry writes an entry of managedFields as the API server does.
func entry(manager, operation, at string, fields ...string) string {
	when := fmt.Sprintf(`"time":%q,`, at)
	if at == "" {
		when = ""
	}
	set := fieldpath.NewSet()
	for _, field := range fields {
		names := []any{}
		for name := range strings.SplitSeq(field, ".") {
			names = append(names, name)
		}
		set.Insert(fieldpath.MakePathOrDie(names...))
	}
	text, err := set.ToJSON()
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"manager":%q,"operation":%q,"apiVersion":"apps/v1",%s"fieldsType":"FieldsV1","fieldsV1":%s}`,
		manager, operation, when, text)
}

// hpaEntry is that of the autoscaler's write through /scale, which has no time.
func hpaEntry() string {
	text := entry("kube-controller-manager", "Update", "", "spec.replicas")
	return strings.TrimSuffix(text, "}") + `,"subresource":"scale"}`
}

// writeOf returns the write that makes incoming of live, sent by a field manager.
func writeOf(t *testing.T, fieldManager string, live, incoming stored) ownership.Write {
	t.Helper()
	w := ownership.Write{FieldManager: fieldManager, ObjectContext: ownership.ObjectContext{Managers: managers}}
	w.Live, w.LiveEntries = parsed(t, live.text())
	w.Incoming, w.IncomingEntries = parsed(t, incoming.text())
	w.Sender = w.SentBy()
	return w
}

// rewriteKeeping rewrites a write so that fields are kept.
func rewriteKeeping(w ownership.Write, paths ...fieldpath.Path) (merge.Outcome, error) {
	var changes []*merge.Change
	for _, path := range paths {
		field := ownership.ContestedField{Path: path, Live: w.Live.Value(path), Incoming: w.Incoming.Value(path), Scale: w.IsScale(path)}
		changes = append(changes, &merge.Change{Field: field, Decision: merge.Decision{Verdict: merge.Keep}})
	}
	return merge.Rewrite(w, changes)
}

func parsed(t *testing.T, text string) (ownership.Object, []ownership.Entry) {
	t.Helper()
	o, err := ownership.ParseObject([]byte(text))
	expect.NoError(t, err)
	entries, err := o.Entries()
	expect.NoError(t, err)
	return o, entries
}

// operationsOf returns operations as they are written in a patch, one each.
func operationsOf(t *testing.T, operations []merge.Operation) []string {
	t.Helper()
	patch, err := merge.EncodePatch(operations)
	expect.NoError(t, err)
	var raw []json.RawMessage
	if err := json.Unmarshal(patch, &raw); err != nil {
		t.Fatalf("%v: %s", err, patch)
	}
	if len(raw) == 0 {
		return nil
	}
	texts := make([]string, len(raw))
	for i, text := range raw {
		texts[i] = string(text)
	}
	return texts
}

// patched applies operations as the API server does (k8s.io/apiserver uses json-patch v4 for mutating webhooks).
func patched(t *testing.T, text string, operations []string) string {
	t.Helper()
	patch, err := jsonpatchv4.DecodePatch([]byte(list(operations...)))
	expect.NoError(t, err)
	got, err := patch.Apply([]byte(text))
	expect.NoError(t, err)
	return string(got)
}
