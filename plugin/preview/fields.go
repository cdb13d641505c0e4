package preview

import (
	"bytes"
	"cmp"
	"encoding/json"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Field is a field that an apply changes, or that handoff acts on.
type Field struct {
	Path string `json:"path"`
	// Live, Without and With are its values as JSON, nil if the object does not have the field.
	Live    json.RawMessage `json:"live,omitempty"`
	Without json.RawMessage `json:"without,omitempty"`
	With    json.RawMessage `json:"with,omitempty"`
	// Acted reports whether handoff acts on the field, and Why describes that, or why the field changes.
	Acted bool   `json:"acted,omitempty"`
	Why   string `json:"why"`

	path fieldpath.Path
}

// fill fills in the fields: those that handoff acts on, followed by all others that the apply changes.
func (t *trial) fill() error {
	live, without, with := plain(t.application.Subject.Object), plain(t.without), plain(t.with)
	differences, differencesErr := t.changes(without, with)
	changes, changesErr := t.changes(live, with)
	write, writeErr := t.write()
	manifest, manifestErr := t.application.Manifest.MarshalJSON()
	if err := cmp.Or(differencesErr, changesErr, writeErr, manifestErr); err != nil {
		return err
	}
	field := func(path fieldpath.Path) Field {
		return Field{
			Path: explain.Text(path), path: path, Live: live.Find(path).Text(), Without: without.Find(path).Text(), With: with.Find(path).Text(),
		}
	}
	acted := fieldpath.NewSet()
	for _, path := range differences {
		f := field(path)
		if f.Acted, f.Why = t.act(f); f.Acted {
			acted.Insert(path)
			t.preview.Fields = append(t.preview.Fields, f)
		}
	}
	t.preview.Keeps = t.preview.Refused != "" || t.preview.Acts && without == nil || !acted.Empty()
	for _, path := range changes {
		if acted.Has(path) {
			continue
		}
		f := field(path)
		declared := write.Declared(path)
		alias := apitypes.AliasOf(t.application.Subject.Kind.GroupKind(), path)
		declared.Manifest = ownership.DeclarationIn(jsontree.Valid(manifest), path, alias)
		if f.Why = reason(declared, f.With != nil); f.With == nil && t.preview.Refused != "" && declared == (ownership.Declared{}) {
			f.Acted, f.Why = true, "cleared by handoff" // a default, which would make the object invalid
		}
		if without != nil { // generated values differ
			f.Without = f.With
		}
		t.preview.Fields = append(t.preview.Fields, f)
	}
	return nil
}

// act returns what handoff has done with a field that differs without and with handoff. Two dry runs can have other differences, such as
// ports that the API server allocates: handoff sets no other value than the live one or, if the apply creates the object, replicas.
func (t *trial) act(f Field) (acted bool, why string) {
	isList := func(value []byte) bool { return bytes.ContainsAny(value[:1], "[{") } // part of which can be kept
	switch {
	case t.preview.Creates:
		return fieldpattern.HasPrefix(t.application.Subject.Context.Scale, f.path), "set by handoff"
	case f.With == nil:
		return true, "cleared by handoff"
	default:
		return isList(f.With) || bytes.Equal(f.Live, f.With), "kept by handoff"
	}
}

// plain returns an object without the metadata that the API server generates, without the annotations that record what was applied,
// which the other fields determine, and without status, which a controller may have changed since the live object was read.
func plain(o ownership.Object) *jsontree.Node {
	if !o.Present() {
		return nil
	}
	root := jsontree.Valid(source.WithoutGenerated(o.Text()))
	isAnnotations := func(parent fieldpath.Path) bool { return len(parent) > 1 }
	for _, record := range []fieldpath.Path{ownership.LastAppliedPath(), ownership.AppliedPath()} {
		root.Cut(record, isAnnotations)
	}
	return jsontree.Valid(root.Remaining())
}

// changes returns the paths at which two objects differ, none without one of them. They identify the elements of lists as the kind's
// schema does.
func (t *trial) changes(before, after *jsontree.Node) (paths []fieldpath.Path, err error) {
	if before == nil {
		return nil, nil
	}
	options := threeway.Options{Report: func(c threeway.Change) { paths = append(paths, c.Path) }}
	for _, s := range []schema.Schema{t.application.Subject.Schema(), schema.JSONMergePatch()} {
		// Lists that cannot be merged by key, such as those with duplicate keys, are compared as a whole.
		paths = nil
		if _, err = threeway.Merge(before.Text(), after.Text(), before.Text(), s, options); err == nil {
			return paths, nil
		}
	}
	return nil, err
}

// write returns the apply as a write, with what the manifests applied now and before declare.
func (t *trial) write() (ownership.Write, error) {
	subject := t.application.Subject
	w := ownership.Write{Live: subject.Object, Incoming: t.with, ObjectContext: subject.Context, FieldManager: t.options.manager()}
	if err := w.Read(); err != nil {
		return w, err
	}
	if !t.options.ServerSide {
		w.Sender.Entry.Operation = managedfields.OperationUpdate
		w.Sender.Was, _ = w.Sender.Entry.Find(w.LiveEntries)
	}
	w.Manifests = w.ReadManifests()
	return w, nil
}

// reason returns why a field changes; stays reports whether the apply sets it.
func reason(declared ownership.Declared, stays bool) string {
	switch {
	case declared.Manifest == ownership.Sets && stays: // kubectl records annotations even if they are empty
		return "set by the manifest"
	case declared.Manifest == ownership.Clears:
		return "cleared by the manifest"
	case declared.Base == ownership.Sets:
		return "removed from the manifest"
	default: // the webhooks include handoff, if the API server rejects the apply without it
		return "set by the API server or a webhook"
	}
}
