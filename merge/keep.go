package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/ownership"
)

// Write is an update on its way: the object as stored, the object as it is about to be stored, and who sends it.
type Write struct {
	Live, Incoming ownership.Object
	// LiveEntries and IncomingEntries are the managedFields of either object.
	LiveEntries, IncomingEntries []ownership.Entry
	Author                       ownership.Author
	Managers                     ownership.Managers
}

// Kept is a field that is to be as it is in live. The path holds field names only.
type Kept struct {
	Path fieldpath.Path
	// Held says that an autoscaler or a controller owns the field, and so that somebody's claim has to be on it.
	Held bool
}

// Keep returns the JSON patch operations (RFC 6902) on the incoming object after which the kept fields are as they are in
// live, in value and in managedFields, and gone from the last-applied annotation where the write has recorded them
// there. It returns none when the object is already like that.
//
// A write that changes nothing but these fields becomes the live object, byte for byte, so that the API server stores
// nothing and the resourceVersion stays.
func (w Write) Keep(kept []Kept, recorded bool) ([]jsonpatch.Operation, error) {
	var operations []jsonpatch.Operation
	paths := make([]fieldpath.Path, len(kept))
	for i, field := range kept {
		path := field.Path
		paths[i] = path
		if !bytes.Equal(w.Incoming.Value(path), w.Live.Value(path)) {
			operations = append(operations, jsonpatch.NewOperation("add", pointer(path), json.RawMessage(w.Live.Value(path))))
		}
	}
	lastApplied, cut := w.lastApplied(paths, recorded)
	if cut {
		at := "/metadata/annotations/" + escape(ownership.LastAppliedAnnotation)
		operations = append(operations, jsonpatch.NewOperation("replace", at, lastApplied))
	}
	entries, changed, err := w.restoreClaims(kept)
	if err != nil {
		return nil, err
	}
	if changed {
		if w.Incoming.ManagedFields() == nil && !w.ContainerStands(fieldpath.MakePathOrDie("metadata", "managedFields")) {
			return nil, fmt.Errorf("%w: metadata: %w", ownership.ErrManagedFields, ownership.ErrNotAnObject)
		}
		text := encodeEntries(entries)
		if w.changesNothingElse(entries, lastApplied, paths) {
			text = w.Live.ManagedFields()
		}
		operations = append(operations, jsonpatch.NewOperation("add", "/metadata/managedFields", json.RawMessage(text)))
	}
	return operations, nil
}

// ContainerStands says whether the incoming object still has the object that the field at path is in. Where its owner has
// deleted that, the field goes too.
func (w Write) ContainerStands(path fieldpath.Path) bool {
	if len(path) == 1 {
		return w.Incoming.Present()
	}
	container := w.Incoming.Value(path[:len(path)-1])
	return len(container) > 0 && container[0] == '{'
}

// lastApplied returns the text that the last-applied annotation is to have, and whether that is another than it has.
func (w Write) lastApplied(paths []fieldpath.Path, recorded bool) (text string, cut bool) {
	text, ok := w.Incoming.LastApplied()
	if !ok || !recorded {
		return text, false
	}
	was := text
	for _, path := range paths {
		text = string(rawjson.Cut([]byte(text), ownership.FieldNames(path)...))
	}
	return text, text != was
}

// changesNothingElse says whether the write, with these entries and this last-applied, is the live object but for the
// times and the order of the entries.
func (w Write) changesNothingElse(entries []ownership.Entry, lastApplied string, paths []fieldpath.Path) bool {
	was, _ := w.Live.LastApplied()
	return lastApplied == was && sameClaims(entries, w.LiveEntries) && w.Incoming.EqualBut(w.Live, paths...)
}

// pointer returns a path as a JSON pointer (RFC 6901).
func pointer(path fieldpath.Path) string {
	var b strings.Builder
	for _, name := range ownership.FieldNames(path) {
		b.WriteByte('/')
		b.WriteString(escape(name))
	}
	return b.String()
}

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
