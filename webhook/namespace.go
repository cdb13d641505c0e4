package webhook

import (
	"encoding/json"
	"slices"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/ownership"
)

// The API server selects namespaces by label, and people opt in by annotation. It therefore sends each write of a namespace whose
// label does not follow its annotation, and the response makes it follow: in the same write, regardless of the sender.

func (r *review) isOfNamespace() bool { return r.kind.Group == "" && r.kind.Kind == "Namespace" }

// labelNamespace returns the operations that make ownership.ModeLabel follow the annotation, and a note if the writer meant to
// write the label.
func labelNamespace(r *review) (out outcome, err error) {
	annotation, annotated := r.incoming.ModeAnnotation()
	want, labeled := ownership.NamespaceLabel(annotation, annotated)
	got, has := r.incoming.ModeLabel()
	if has == labeled && got == want {
		return outcome{}, nil
	}
	if out.operations, err = disown(r.incoming); err != nil {
		return outcome{}, err
	}
	out.operations = append(out.operations, labelOperations(r.incoming, want, labeled)...)
	if r.writesLabel() {
		out.notes = []string{
			warningOf("the label "+ownership.ModeLabel+" follows the annotation of that name; write the annotation instead", "", ""),
		}
	}
	return out, nil
}

func labelOperations(namespace ownership.Object, value string, labeled bool) []jsonpatch.Operation {
	path := "/metadata/labels/" + jsontree.EscapePointer(ownership.ModeLabel)
	if !labeled {
		return []jsonpatch.Operation{{Operation: "remove", Path: path}}
	}
	set := jsonpatch.Operation{Operation: "add", Path: path, Value: value}
	if labels := namespace.Value(fieldpath.MakePathOrDie("metadata", "labels")); len(labels) > 0 && labels[0] == '{' {
		return []jsonpatch.Operation{set}
	}
	none := jsonpatch.Operation{Operation: "add", Path: "/metadata/labels", Value: json.RawMessage("{}")}
	return []jsonpatch.Operation{none, set}
}

// disown returns the operations that remove the label from managedFields. Nobody manages a label that handoff has corrected: an
// entry would make the next server-side apply of a manifest that contains the label a conflict. The operations begin with the
// last entry, so that the indexes of the others stay valid.
func disown(namespace ownership.Object) ([]jsonpatch.Operation, error) {
	entries, err := namespace.Entries()
	if err != nil {
		return nil, err
	}
	// An empty parent would stand for the parent itself, so it goes as well.
	label := fieldpath.MakePathOrDie("f:metadata", "f:labels", "f:"+ownership.ModeLabel)
	always := func(fieldpath.Path) bool { return true }
	var operations []jsonpatch.Operation
	for i, e := range slices.Backward(entries) {
		if e.Fields.Cut(label, always) == nil {
			continue
		}
		path := "/metadata/managedFields/" + strconv.Itoa(i)
		switch rest := e.Fields.Remaining(); {
		case string(rest) == "{}":
			operations = append(operations, jsonpatch.Operation{Operation: "remove", Path: path})
		default:
			operations = append(operations, jsonpatch.Operation{
				Operation: "replace", Path: path + "/fieldsV1", Value: json.RawMessage(rest),
			})
		}
	}
	return operations, nil
}

// writesLabel reports whether the writer meant to write the label: it sets a value, or removes the label with a command of a
// person. A manifest that replaces the namespace lacks the label without any intention.
func (r *review) writesLabel() bool {
	got, has := r.incoming.ModeLabel()
	before, had := "", false
	if r.operation == "UPDATE" && r.live.Present() {
		before, had = r.live.ModeLabel()
	}
	if has {
		return !had || got != before
	}
	return had && slices.Contains([]string{"kubectl-label", "kubectl-edit", "kubectl-patch"}, r.fieldManager)
}
