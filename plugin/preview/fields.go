package preview

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/internal/protocol"
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
	differences, err := t.differences(without, with)
	if err != nil {
		return err
	}
	changes, err := t.changes(live, with)
	if err != nil {
		return err
	}
	write, err := t.write()
	if err != nil {
		return err
	}
	isCut := func(text string) bool { return isMore(text) || strings.Contains(text, " ...") }
	isAnyHidden := t.application.Subject.IsSecret() || slices.ContainsFunc(t.warnings, isCut)
	t.preview.Keeps = t.preview.Acts && without == nil
	var others []Field
	shown := map[string]bool{}
	for i, path := range slices.Concat(differences, changes) {
		if isWithin(path, shown) {
			continue
		}
		path, why := t.said(path, with, live)
		f := Field{
			Path: explain.Text(path), path: path, Live: live.Find(path).Text(), Without: without.Find(path).Text(), With: with.Find(path).Text(),
		}
		switch isDifference := i < len(differences); {
		case why != "", isDifference && isAnyHidden:
			f.Acted, f.Why = true, cmp.Or(why, "kept by handoff")
			t.preview.Keeps = t.preview.Keeps || without == nil || !bytes.Equal(f.Without, f.With)
			t.preview.Fields, shown[path.String()] = append(t.preview.Fields, f), true
		case !isDifference: // two dry runs can have other differences, such as ports that the API server allocates
			f.Why = reason(write.Declared(path), f.With != nil)
			if without != nil { // generated values differ
				f.Without = f.With
			}
			others = append(others, f)
		}
	}
	t.preview.Fields = append(t.preview.Fields, others...)
	for _, text := range t.warnings {
		if !t.used[text] && !isMore(text) {
			t.preview.Warnings = append(t.preview.Warnings, text)
		}
	}
	return nil
}

// isWithin reports whether a path, or one above it, is shown.
func isWithin(path fieldpath.Path, shown map[string]bool) bool {
	for n := range path {
		if shown[path[:n+1].String()] {
			return true
		}
	}
	return false
}

// moreFields ends a warning that is only about the number of fields that no warning names.
const moreFields = " more fields"

func isMore(warning string) bool { return strings.HasSuffix(warning, moreFields) }

// said returns what the warnings of handoff say about the field at a path or above it, and the path of that field. About fields nested
// under it, they name the field. Without a warning, why is empty.
func (t *trial) said(path fieldpath.Path, objects ...*jsontree.Node) (at fieldpath.Path, why string) {
	for n := len(path); n > 0; n-- {
		for _, text := range t.warnings {
			if why, ok := aboutField(text, path[:n], objects); ok {
				t.used[text] = true
				return path[:n], why
			}
		}
	}
	var nested []string
	for _, text := range t.warnings {
		if field := " " + path.String(); strings.Contains(text, field+".") || strings.Contains(text, field+"[") {
			t.used[text] = true
			nested = append(nested, strings.TrimPrefix(text, protocol.WarningPrefix))
		}
	}
	return path, strings.Join(nested, "; ")
}

// aboutField returns what a warning says about a field, without the path and the value.
func aboutField(warning string, path fieldpath.Path, objects []*jsontree.Node) (why string, ok bool) {
	before, after, found := strings.Cut(strings.TrimPrefix(warning, protocol.WarningPrefix)+" ", " "+path.String())
	if !found || !strings.ContainsAny(after[:1], "=,; ") {
		return "", false
	}
	if shown, hasValue := strings.CutPrefix(after, "="); hasValue {
		after = shown
		for _, o := range objects {
			after = strings.TrimPrefix(after, strings.Trim(string(o.Find(path).Text()), `"`))
		}
	}
	return strings.TrimSpace(strings.TrimSuffix(before, " with") + after), true // started with 7
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

// differences returns the fields in which the objects differ after applies without and with handoff. If the apply creates the object,
// handoff sets nothing but the scale field, and the API server generates other values for each dry run.
func (t *trial) differences(without, with *jsontree.Node) ([]fieldpath.Path, error) {
	scaled := t.application.Subject.Context.Scale
	switch {
	case !t.preview.Creates:
		return t.changes(without, with)
	case without == nil, scaled == nil, bytes.Equal(without.Find(scaled).Text(), with.Find(scaled).Text()):
		return nil, nil
	default:
		return []fieldpath.Path{scaled}, nil
	}
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
	default:
		return "set by the API server or another webhook"
	}
}
