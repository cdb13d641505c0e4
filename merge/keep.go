package merge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// Write is a write on its way through admission. It is a value: Clear returns another one, and nothing changes the texts.
type Write struct {
	// Live is the object as stored, the zero Object when the write creates it; Incoming as it is about to be stored.
	Live, Incoming ownership.Object
	// LiveEntries and IncomingEntries are the managedFields of either object.
	LiveEntries, IncomingEntries []ownership.Entry
	// Author is who sends the write, Managers what the managers in the entries stand for.
	Author   ownership.Author
	Managers ownership.Managers

	released bool           // by Clear: IncomingEntries lack claims that the incoming object has
	made     *fieldpath.Set // by restoreClaims: the objects that are made again on the way to kept fields
}

// Kept is a field that is to be as it is in live.
type Kept struct {
	// Path leads to the field, in both objects alike.
	Path fieldpath.Path
	// Held says that an autoscaler or a controller owns the field, and so that somebody's claim has to be on it.
	Held bool
	// Value is what the field is to be, as JSON; nil stands for live's value.
	Value json.RawMessage
}

// Keep returns the JSON patch operations (RFC 6902) on the incoming object after which the kept fields are as they are in
// live, in value and in managedFields, and gone from the last-applied annotation where the write has recorded them
// there: recorded says so (ownership.Manifests.Recorded). It returns none when the object is already like that. Every kept
// field has a place in the incoming object: ContainerStands.
//
// A write that changes nothing but these fields becomes the live object, byte for byte, so that the API server stores
// nothing and the resourceVersion stays. The error is ownership.ErrManagedFields, or of a value that is no JSON.
func (w Write) Keep(kept []Kept, recorded bool) ([]jsonpatch.Operation, error) {
	var operations []jsonpatch.Operation
	paths := make([]fieldpath.Path, len(kept))
	for i, field := range kept {
		path := field.Path
		paths[i] = path
		if field.Value == nil {
			field.Value = w.Live.Value(path)
		}
		if !bytes.Equal(w.Incoming.Value(path), field.Value) {
			operation, err := w.restoreValue(path, field.Value)
			if err != nil {
				return nil, err
			}
			operations = append(operations, operation)
		}
	}
	lastApplied, cut := w.lastApplied(paths, recorded)
	if cut {
		at := "/metadata/annotations/" + rawjson.EscapePointer(ownership.LastAppliedAnnotation)
		operations = append(operations, jsonpatch.NewOperation("replace", at, lastApplied))
	}
	if !w.Live.Present() {
		return operations, nil // what created the object claims it, until the autoscaler writes
	}
	entries, changed, err := w.restoreClaims(kept)
	if err != nil {
		return nil, err
	}
	text := encodeEntries(entries)
	if (changed || len(operations) > 0) && w.changesNothingElse(entries, lastApplied, paths, operations) {
		// The applier's entry has the time of this write, and with it another place among the entries.
		text = w.Live.ManagedFields()
		changed = changed || !bytes.Equal(text, w.Incoming.ManagedFields())
	}
	if !changed {
		return operations, nil
	}
	if metadata := w.Incoming.Value(fieldpath.MakePathOrDie("metadata")); len(metadata) == 0 || metadata[0] != '{' {
		return nil, fmt.Errorf("%w: metadata: %w", ownership.ErrManagedFields, ownership.ErrNotAnObject)
	}
	return append(operations, jsonpatch.NewOperation("add", "/metadata/managedFields", json.RawMessage(text))), nil
}

// ContainerStands says whether a field has a place in the incoming object. Where an element of a list that holds it has
// been deleted by its owner, the field goes too. Objects that hold it are made again.
func (w Write) ContainerStands(path fieldpath.Path) bool {
	if !w.Incoming.Present() {
		return false
	}
	place := w.Incoming.Locate(path)
	for _, missing := range path[place.Found:] {
		if missing.FieldName == nil {
			return false
		}
	}
	if place.Found == 0 || place.Found == len(path) {
		return true
	}
	return w.Incoming.Value(path[:place.Found])[0] == '{'
}

// restoreValue returns the operation that gives the incoming object the value of a field, whose container stands. An
// object on the way to it that is missing comes with it.
func (w Write) restoreValue(path fieldpath.Path, value json.RawMessage) (jsonpatch.Operation, error) {
	place := w.Incoming.Locate(path)
	if place.Found == len(path) {
		return jsonpatch.NewOperation("add", place.Pointer, value), nil // which replaces a value that is there
	}
	for i := len(path) - 1; i > place.Found; i-- {
		wrapped, err := json.Marshal(map[string]json.RawMessage{*path[i].FieldName: value})
		if err != nil {
			return jsonpatch.Operation{}, fmt.Errorf("restoring %s: %w", path, err)
		}
		value = wrapped
	}
	return jsonpatch.NewOperation("add", place.Pointer+"/"+rawjson.EscapePointer(*path[place.Found].FieldName), value), nil
}

// lastApplied returns the text that the last-applied annotation is to have, and whether that is another than it has.
func (w Write) lastApplied(paths []fieldpath.Path, recorded bool) (text string, cut bool) {
	text, ok := w.Incoming.LastApplied()
	if !ok || !recorded {
		return text, false
	}
	was := text
	for _, path := range paths {
		text = string(ownership.Cut([]byte(text), path))
	}
	return text, text != was
}
