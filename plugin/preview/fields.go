package preview

import (
	"bytes"
	"encoding/json"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonindex"
	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
)

// Field is a field that an apply changes, or that handoff keeps.
type Field struct {
	Path fieldpath.Path
	// Live, Without and With are its values as JSON, nil where it has none.
	Live, Without, With json.RawMessage
	// Why says in words why the field becomes what it does.
	Why string
	// Decided is what handoff decides; nil where it lets the apply do as it does.
	Decided *merge.Change
}

// fields are those that handoff decides on, and then all others that the apply changes.
func (p *Preview) fields(t *trial, decided []merge.Change) ([]Field, error) {
	with, err := ownership.ParseObject(p.With)
	if err != nil {
		return nil, err
	}
	var objects [3]*jsonindex.Index
	for i, text := range [][]byte{t.Object.Text(), p.Without, p.With} {
		if objects[i], err = shownOf(text); err != nil {
			return nil, err
		}
	}
	at := func(path fieldpath.Path) Field {
		return Field{Path: path, Live: objects[0].Value(path), Without: objects[1].Value(path), With: objects[2].Value(path)}
	}
	var fields []Field
	for i := range decided {
		f := at(decided[i].Path)
		f.Decided, f.Why = &decided[i], becauseOf(&decided[i])
		fields = append(fields, f)
	}
	reason, err := t.reasons(with)
	if err != nil {
		return nil, err
	}
	changes, err := t.changes(p.With)
	if err != nil {
		return nil, err
	}
	isDecided := map[string]bool{}
	for i := range fields {
		isDecided[fields[i].Path.String()] = true
	}
	for _, c := range changes {
		if !isDecided[c.Path.String()] {
			f := at(c.Path)
			f.Why = reason(c.Path, f.With != nil)
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// shownOf reads an object without what no field shows: a container has no last-applied annotation in it.
func shownOf(text []byte) (_ *jsonindex.Index, err error) {
	if text != nil {
		if text, err = plain(text); err != nil {
			return nil, err
		}
	}
	return jsonindex.New(text), nil
}

func becauseOf(c *merge.Change) string {
	did := map[merge.Verdict]string{
		merge.Keep: "kept", merge.Clear: "cleared", merge.Start: "started", merge.Yield: "not kept",
	}[c.Verdict]
	before, by, after := c.Because()
	return did + before + by + after
}

// changes are the differences between live and an object after the apply. A new object is none.
func (t *trial) changes(after []byte) ([]threeway.Change, error) {
	if !t.Object.Present() {
		return nil, nil
	}
	live, after, err := both(t.Object.Text(), after, plain)
	if err != nil {
		return nil, err
	}
	var changes []threeway.Change
	if _, err := threeway.MergeJSON(live, after, live, t.Schema(), threeway.Options{Changes: &changes}); err == nil {
		return changes, nil
	}
	// What cannot be merged by its keys, as a list that has one twice, is compared as a whole.
	changes = nil
	_, err = threeway.MergeJSON(live, after, live, schema.JSONMergePatch(), threeway.Options{Changes: &changes})
	return changes, err
}

func (t *trial) same(a, b []byte) (bool, error) {
	a, b, err := both(a, b, plain)
	return err == nil && jsonpatchv4.Equal(a, b), err
}

func both(a, b []byte, do func([]byte) ([]byte, error)) (doneA, doneB []byte, err error) {
	if doneA, err = do(a); err != nil {
		return nil, nil, err
	}
	doneB, err = do(b)
	return doneA, doneB, err
}

// plain is an object without what the API server writes on each write, and without last-applied: that is as the fields say. Nor
// has it a status, which its controller may have written since live was read.
func plain(text []byte) ([]byte, error) {
	for _, name := range []string{"managedFields", "resourceVersion", "generation", "creationTimestamp", "uid"} {
		text = rawjson.Cut(text, "metadata", name)
	}
	text = rawjson.Cut(text, "status")
	text = rawjson.Cut(text, "metadata", "annotations", ownership.LastAppliedAnnotation)
	if annotations := rawjson.Find(text, "metadata", "annotations").Of(text); bytes.Equal(annotations, []byte("{}")) {
		text = rawjson.Cut(text, "metadata", "annotations")
	}
	return text, rawjson.Check(text)
}

// appliedClientSide says whether kubectl has applied the object client-side before.
func (t *trial) appliedClientSide() bool {
	entries, err := t.Object.Entries()
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Manager == clientSideManager && e.Operation == ownership.OperationUpdate {
			return true
		}
	}
	return false
}
