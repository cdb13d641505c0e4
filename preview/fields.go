package preview

import (
	"bytes"
	"encoding/json"

	jsonpatchv4 "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/decision"
	"github.com/ownership-handoff/handoff/internal/rawjson"
	"github.com/ownership-handoff/handoff/merge"
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
	Decided *decision.Change
}

// fields are those that handoff decides on, and then all others that the apply changes.
func (p *Preview) fields(t *trial, decided []decision.Change) ([]Field, error) {
	without, err := ownership.ParseObject(p.Without)
	if err != nil && p.Without != nil {
		return nil, err
	}
	with, err := ownership.ParseObject(p.With)
	if err != nil {
		return nil, err
	}
	at := func(path fieldpath.Path) Field {
		f := Field{Path: path, Live: t.Object.Value(path), With: with.Value(path)}
		if p.Without != nil {
			f.Without = without.Value(path)
		}
		return f
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
	for _, c := range changes {
		if !has(fields, c.Path) {
			f := at(c.Path)
			f.Why = reason(c.Path)
			fields = append(fields, f)
		}
	}
	return fields, nil
}

func has(fields []Field, path fieldpath.Path) bool {
	for i := range fields {
		if fields[i].Path.Equals(path) {
			return true
		}
	}
	return false
}

func becauseOf(c *decision.Change) string {
	did := map[merge.Verdict]string{merge.Keep: "kept", merge.Clear: "cleared", merge.Start: "started"}[c.Verdict]
	before, by, after := c.Because()
	return did + before + by + after
}

// changes are the differences between live and an object after the apply. A new object is none.
func (t *trial) changes(after []byte) ([]merge.Change, error) {
	if !t.Object.Present() {
		return nil, nil
	}
	live, after, err := both(t.Object.Text(), after, plain)
	if err != nil {
		return nil, err
	}
	var changes []merge.Change
	if _, err := merge.ThreeWayJSON(live, after, live, t.Schema(), merge.Options{Changes: &changes}); err == nil {
		return changes, nil
	}
	// What cannot be merged by its keys, as a list that has one twice, is compared as a whole.
	changes = nil
	_, err = merge.ThreeWayJSON(live, after, live, merge.JSONMergePatch(), merge.Options{Changes: &changes})
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

// reasons returns why fields change: what the manifests say.
func (t *trial) reasons(with ownership.Object) (func(fieldpath.Path) string, error) {
	live, err := t.Object.Entries()
	if err != nil {
		return nil, err
	}
	incoming, err := with.Entries(live...)
	if err != nil {
		return nil, err
	}
	author := t.options.Managers.Author(t.options.manager(), live, incoming)
	manifests, err := ownership.ManifestsOf(author, t.Object, with, live)
	if err != nil {
		return nil, err
	}
	return func(path fieldpath.Path) string {
		switch declared := manifests.On(path); {
		case declared.Manifest == ownership.Sets:
			return "the manifest sets it"
		case declared.Manifest == ownership.Clears:
			return "the manifest clears it"
		case declared.Base == ownership.Sets:
			return "the manifest has let go of it"
		default:
			return "the API server sets it, or another webhook"
		}
	}, nil
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
