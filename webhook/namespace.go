package webhook

import (
	"encoding/json"
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// The API server selects namespaces by label, and people opt in by annotation. It therefore sends each write of a namespace whose
// label does not follow its annotation, and the response makes it follow: in the same write, regardless of the sender.

// labelNamespace returns the operations that make optin.Label follow the annotation, and a note if the writer meant to
// write the label.
func labelNamespace(w ownership.Write) (out outcome, err error) {
	annotation, annotated := w.Incoming.Annotation(optin.Annotation).String()
	want, labeled := optin.NamespaceLabel(annotation, annotated)
	got, has := w.Incoming.ModeLabel()
	if has == labeled && got == want {
		return outcome{}, nil
	}
	if out.decided.Operations, err = disown(w.Incoming); err != nil {
		return outcome{}, err
	}
	out.decided.Operations = append(out.decided.Operations, labelOperations(w.Incoming, want, labeled)...)
	if writesLabel(w) {
		out.notes = []string{
			warningOf("the label "+optin.Label+" follows the annotation of that name; write the annotation instead", "", ""),
		}
	}
	return out, nil
}

func labelOperations(namespace ownership.Object, value string, labeled bool) (operations []merge.Operation) {
	path := "/metadata/labels/" + jsontree.EscapePointer(optin.Label)
	if !labeled {
		return []merge.Operation{{Op: "remove", Path: path}}
	}
	if !namespace.At("metadata", "labels").IsObject() {
		operations = append(operations, merge.Operation{Op: "add", Path: "/metadata/labels", Value: json.RawMessage("{}")})
	}
	return append(operations, merge.Operation{Op: "add", Path: path, Value: value})
}

// disown returns the operations that remove the label from managedFields. Nobody manages a label that handoff has corrected: an
// entry would make the next server-side apply of a manifest that contains the label a conflict. The operations begin with the
// last entry, so that the indexes of the others stay valid.
func disown(namespace ownership.Object) ([]merge.Operation, error) {
	entries, err := namespace.Entries()
	if err != nil {
		return nil, err
	}
	// An empty parent would stand for the parent itself, so it goes as well.
	label := fieldpath.MakePathOrDie("f:metadata", "f:labels", "f:"+optin.Label)
	always := func(fieldpath.Path) bool { return true }
	var operations []merge.Operation
	for i, e := range slices.Backward(entries) {
		if e.Fields.Cut(label, always) == nil {
			continue
		}
		path := "/metadata/managedFields/" + strconv.Itoa(i)
		if rest := e.Fields.Remaining(); string(rest) == "{}" {
			operations = append(operations, merge.Operation{Op: "remove", Path: path})
		} else {
			operations = append(operations, merge.Operation{Op: "replace", Path: path + "/fieldsV1", Value: json.RawMessage(rest)})
		}
	}
	return operations, nil
}

// writesLabel reports whether the writer meant to write the label: it sets a value, or removes the label with a command of a
// person. A manifest that replaces the namespace lacks the label without any intention.
func writesLabel(w ownership.Write) bool {
	got, has := w.Incoming.ModeLabel()
	before, had := w.Live.ModeLabel()
	if has {
		return !had || got != before
	}
	return had && slices.Contains([]string{"kubectl-label", "kubectl-edit", "kubectl-patch", "k9s"}, w.FieldManager)
}
