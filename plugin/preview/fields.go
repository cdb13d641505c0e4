package preview

import (
	"encoding/json"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Field is a field that an apply changes, or that handoff keeps.
type Field struct {
	Path fieldpath.Path
	// Live, Without and With are its values as JSON, nil if the object does not have the field.
	Live, Without, With json.RawMessage
	// Why describes why the field changes or is kept.
	Why string
	// Decided is handoff's decision; nil if it does not act on the field.
	Decided *merge.Change
}

// fields returns the fields that handoff acts on, followed by all others that the apply changes.
func (t *trial) fields(p prediction) ([]Field, error) {
	with, err := ownership.ParseObject(p.with)
	if err != nil {
		return nil, err
	}
	var objects [3]*jsontree.Node
	for i, text := range [][]byte{t.subject.Object.Text(), p.without, p.with} {
		if objects[i], err = shownOf(text); err != nil {
			return nil, err
		}
	}
	at := func(path fieldpath.Path) Field {
		return Field{Path: path, Live: objects[0].Find(path).Text(), Without: objects[1].Find(path).Text(), With: objects[2].Find(path).Text()}
	}
	var fields []Field
	for i := range p.decided.Changes {
		c := &p.decided.Changes[i]
		f := at(c.Path)
		f.Decided, f.Why = c, becauseOf(c)
		fields = append(fields, f)
	}
	reason, err := t.reasons(with)
	if err != nil {
		return nil, err
	}
	changes, err := t.changes(p.with)
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

// shownOf indexes an object without the parts that a preview leaves out, so that ancestors do not contain them either.
func shownOf(text []byte) (_ *jsontree.Node, err error) {
	if text != nil {
		if text, err = plain(text); err != nil {
			return nil, err
		}
	}
	return jsontree.Valid(text), nil
}

func becauseOf(c *merge.Change) string {
	did := map[merge.Verdict]string{
		merge.Keep: "kept", merge.Clear: "cleared", merge.Start: "started", merge.ManifestWins: "not kept",
		merge.Removed: "removed",
	}[c.Decision.Verdict]
	before, name, after := c.Text(did, explain.Text(c.Path))
	return before + name + after
}

// changes returns the differences between the live object and the object after the apply; none if there is no live object.
func (t *trial) changes(after []byte) ([]threeway.Change, error) {
	if !t.subject.Object.Present() {
		return nil, nil
	}
	live, after, err := both(t.subject.Object.Text(), after, plain)
	if err != nil {
		return nil, err
	}
	var changes []threeway.Change
	options := threeway.Options{Report: func(c threeway.Change) { changes = append(changes, c) }}
	if _, err := threeway.MergeJSON(live, after, live, t.subject.Schema(), options); err == nil {
		return changes, nil
	}
	// Lists that cannot be merged by key, such as those with duplicate keys, are compared as a whole.
	_, err = threeway.MergeJSON(live, after, live, schema.JSONMergePatch(), options)
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

// plain returns an object without the metadata that the API server generates, without the last-applied annotation,
// which the other fields determine, and without status, which a controller may have changed since the live object was read.
func plain(text []byte) ([]byte, error) {
	root, err := jsontree.Parse(source.WithoutGenerated(text))
	isAnnotations := func(parent fieldpath.Path) bool { return len(parent) > 1 }
	root.Cut(ownership.LastAppliedPath(), isAnnotations)
	return root.Remaining(), err
}

// appliedClientSide reports whether kubectl has applied the object client-side before.
func (t *trial) appliedClientSide() bool {
	entries, err := t.subject.Object.Entries()
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
