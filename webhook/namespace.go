package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// The API server selects namespaces by label, and people opt in by annotation. It therefore sends each write of a namespace whose
// label does not follow its annotation, and the response makes it follow: in the same write, regardless of the sender.

func (r *review) isOfNamespace() bool { return r.kind.Group == "" && r.kind.Kind == "Namespace" }

// labelNamespace returns the operations that make ownership.ModeLabel follow the annotation, and a note if the writer meant to
// write the label.
func labelNamespace(r *review) (out outcome, err error) {
	annotation, annotated := r.incoming.ModeText()
	want, labeled := ownership.NamespaceLabel(annotation, annotated)
	got, has := modeLabel(r.incoming)
	if has == labeled && got == want {
		return outcome{}, nil
	}
	if out.operations, err = disown(r.incoming.ManagedFields()); err != nil {
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

// modeLabel returns the label of a namespace. A value that is no string counts as empty.
func modeLabel(namespace ownership.Object) (value string, ok bool) {
	text := namespace.Text()
	span := rawjson.Find(text, "metadata", "labels", ownership.ModeLabel)
	value, _ = rawjson.Unquote(span.Of(text))
	return value, span.Present()
}

func labelOperations(namespace ownership.Object, value string, labeled bool) []jsonpatch.Operation {
	path := "/metadata/labels/" + rawjson.EscapePointer(ownership.ModeLabel)
	if !labeled {
		return []jsonpatch.Operation{{Operation: "remove", Path: path}}
	}
	set := jsonpatch.Operation{Operation: "add", Path: path, Value: value}
	labels := rawjson.Find(namespace.Text(), "metadata", "labels")
	if labels.Present() && namespace.Text()[labels.Start] == '{' {
		return []jsonpatch.Operation{set}
	}
	none := jsonpatch.Operation{Operation: "add", Path: "/metadata/labels", Value: json.RawMessage("{}")}
	return []jsonpatch.Operation{none, set}
}

// disown returns the operations that remove the label from managedFields. Nobody manages a label that handoff has corrected: an
// entry would make the next server-side apply of a manifest that contains the label a conflict. The operations begin with the
// last entry, so that the indexes of the others stay valid.
func disown(managedFields []byte) ([]jsonpatch.Operation, error) {
	if len(managedFields) == 0 {
		return nil, nil
	}
	var entries []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(managedFields, &entries); err != nil {
		return nil, fmt.Errorf("%w: %w", ownership.ErrManagedFields, err)
	}
	label := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "labels", ownership.ModeLabel))
	var operations []jsonpatch.Operation
	for i, e := range slices.Backward(entries) {
		var set fieldpath.Set
		if e.FieldsV1 == nil || !bytes.Contains(e.FieldsV1.GetRawBytes(), []byte(ownership.ModeLabel)) {
			continue
		}
		if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
			return nil, fmt.Errorf("%w: %w", ownership.ErrManagedFields, err)
		}
		rest := set.Difference(label)
		path := "/metadata/managedFields/" + strconv.Itoa(i)
		switch {
		case rest.Equals(&set):
		case rest.Empty():
			operations = append(operations, jsonpatch.Operation{Operation: "remove", Path: path})
		default:
			text, err := rest.ToJSON()
			if err != nil {
				return nil, fmt.Errorf("encoding managedFields: %w", err)
			}
			operations = append(operations, jsonpatch.Operation{
				Operation: "replace", Path: path + "/fieldsV1", Value: json.RawMessage(text),
			})
		}
	}
	return operations, nil
}

// writesLabel reports whether the writer meant to write the label: it sets a value, or removes the label with a command of a
// person. A manifest that replaces the namespace lacks the label without any intention.
func (r *review) writesLabel() bool {
	got, has := modeLabel(r.incoming)
	before, had := "", false
	if r.operation == "UPDATE" && r.live.Present() {
		before, had = modeLabel(r.live)
	}
	if has {
		return !had || got != before
	}
	return had && slices.Contains([]string{"kubectl-label", "kubectl-edit", "kubectl-patch"}, r.fieldManager)
}
