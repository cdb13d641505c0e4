package webhook

import (
	"encoding/json"
	"slices"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"

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
func disown(namespace ownership.Object) ([]jsonpatch.Operation, error) {
	entries, err := namespace.Entries()
	if err != nil {
		return nil, err
	}
	var operations []jsonpatch.Operation
	for i, e := range slices.Backward(entries) {
		rest := withoutLabel(e.Fields)
		path := "/metadata/managedFields/" + strconv.Itoa(i)
		switch {
		case len(rest) == len(e.Fields):
		case isEmptyObject(rest):
			operations = append(operations, jsonpatch.Operation{Operation: "remove", Path: path})
		default:
			operations = append(operations, jsonpatch.Operation{
				Operation: "replace", Path: path + "/fieldsV1", Value: json.RawMessage(rest),
			})
		}
	}
	return operations, nil
}

// withoutLabel returns the fieldsV1 of an entry without the label, and without the parents that become empty: an empty parent
// would stand for the parent itself.
func withoutLabel(fields []byte) []byte {
	path := []string{"f:metadata", "f:labels", "f:" + ownership.ModeLabel}
	if !rawjson.Find(fields, path...).Present() {
		return fields
	}
	for ; len(path) > 0; path = path[:len(path)-1] {
		fields = rawjson.Cut(fields, path...)
		if parent := path[:len(path)-1]; len(parent) > 0 && !isEmptyObject(rawjson.Find(fields, parent...).Of(fields)) {
			return fields
		}
	}
	return fields
}

// isEmptyObject reports whether a JSON text is an object without members.
func isEmptyObject(text []byte) bool {
	return len(text) > 0 && text[0] == '{' && text[rawjson.SkipSpace(text, 1)] == '}'
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
