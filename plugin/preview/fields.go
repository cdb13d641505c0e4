package preview

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
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
	differences, err := t.differences()
	if err != nil {
		return err
	}
	t.preview.Keeps = t.preview.Acts && t.preview.Without == nil
	for _, path := range differences {
		if !t.addWarned(path) && t.isAnyHidden() {
			t.addActed(path, "kept by handoff")
		} // other values can differ between two dry runs too, such as ports that the API server allocates
	}
	others, err := t.others()
	t.preview.Fields = append(t.preview.Fields, others...)
	for _, text := range t.warnings {
		if !t.used[text] && !isMore(text) && !t.isLocal {
			t.preview.Warnings = append(t.preview.Warnings, text)
		}
	}
	return err
}

// others returns the other fields that the apply changes. It adds those that a warning names to the others that handoff acts on.
func (t *trial) others() (others []Field, err error) {
	if t.preview.Creates {
		return nil, nil
	}
	write, err := t.write()
	if err != nil {
		return nil, err
	}
	changes, err := t.changes(t.live, t.with)
	for _, path := range changes {
		if t.addWarned(path) {
			continue
		}
		f := t.at(path)
		f.Why = reason(write.Declared(path), f.With != nil)
		if t.without != nil { // generated values differ
			f.Without = f.With
		}
		others = append(others, f)
	}
	return others, err
}

func (t *trial) at(path fieldpath.Path) Field {
	return Field{
		Path: explain.Text(path), path: path,
		Live: t.live.Find(path).Text(), Without: t.without.Find(path).Text(), With: t.with.Find(path).Text(),
	}
}

func (t *trial) addActed(path fieldpath.Path, why string) {
	f := t.at(path)
	f.Acted, f.Why = true, why
	t.preview.Keeps = t.preview.Keeps || t.without == nil || !bytes.Equal(f.Without, f.With)
	t.preview.Fields = append(t.preview.Fields, f)
}

// addWarned adds the field that a warning of handoff names at a path, above it or, in an object, nested under it. It reports whether
// there is one, or has been.
func (t *trial) addWarned(path fieldpath.Path) (found bool) {
	for n := len(path); n > 0; n-- {
		if slices.ContainsFunc(t.preview.Fields, func(f Field) bool { return f.path.Equals(path[:n]) }) {
			return true
		}
		if why, ok := t.warning(path[:n]); ok {
			t.addActed(path[:n], why)
			return true
		}
	}
	if len(t.warnings) == 0 || len(path) >= fieldtree.MaxDepth { // no deeper field is kept
		return false
	}
	seen := map[string]bool{} // most members are in both objects
	for _, o := range []*jsontree.Node{t.with, t.live} {
		at := o.Find(path)
		if !at.IsObject() {
			continue
		}
		for part := range at.Parts() {
			if name := part.Name(); !seen[name] {
				seen[name] = true
				found = t.addWarned(append(path[:len(path):len(path)], fieldpath.PathElement{FieldName: &name})) || found
			}
		}
	}
	return found
}

// isAnyHidden reports whether handoff can have acted on fields that no warning names in full.
func (t *trial) isAnyHidden() bool {
	isCut := func(text string) bool { return isMore(text) || strings.Contains(text, " ...") }
	return t.preview.Subject.IsSecret() || slices.ContainsFunc(t.warnings, isCut)
}

// isMore reports whether a warning is only about the number of fields that no warning names.
func isMore(warning string) bool { return strings.HasSuffix(warning, " more fields") }

// warning returns what a warning of handoff says about a field, without the path and the value.
func (t *trial) warning(path fieldpath.Path) (why string, ok bool) {
	for _, text := range t.warnings {
		before, after, found := strings.Cut(strings.TrimPrefix(text, protocol.WarningPrefix)+" ", " "+path.String())
		if !found || !strings.ContainsAny(after[:1], "=,; ") {
			continue
		}
		t.used[text] = true
		if shown, hasValue := strings.CutPrefix(after, "="); hasValue {
			after = shown
			for _, o := range []*jsontree.Node{t.with, t.live} {
				after = strings.TrimPrefix(after, strings.Trim(string(o.Find(path).Text()), `"`))
			}
		}
		return strings.TrimSpace(strings.TrimSuffix(before, " with") + after), true // started with 7
	}
	return "", false
}

// plain returns an object without the metadata that the API server generates, without the annotations that record what was applied,
// which the other fields determine, and without status, which a controller may have changed since the live object was read.
func plain(text []byte) (*jsontree.Node, error) {
	if text == nil {
		return nil, nil //nolint:nilnil // no object and no error
	}
	root, err := jsontree.Parse(source.WithoutGenerated(text))
	if err != nil {
		return nil, err
	}
	isAnnotations := func(parent fieldpath.Path) bool { return len(parent) > 1 }
	for _, record := range []fieldpath.Path{ownership.LastAppliedPath(), ownership.AppliedPath()} {
		root.Cut(record, isAnnotations)
	}
	return jsontree.Valid(root.Remaining()), nil
}

// differences returns the fields in which the objects differ after applies without and with handoff. If the apply creates the object,
// handoff sets nothing but the scale field, and the API server generates other values for each dry run.
func (t *trial) differences() (paths []fieldpath.Path, err error) {
	objects := map[**jsontree.Node][]byte{&t.live: t.preview.Subject.Object.Text(), &t.without: t.preview.Without, &t.with: t.preview.With}
	for to, text := range objects {
		if *to, err = plain(text); err != nil {
			return nil, err
		}
	}
	scaled := t.preview.Subject.Context.Scale
	switch {
	case t.without == nil:
		return nil, nil
	case !t.preview.Creates:
		return t.changes(t.without, t.with)
	case scaled != nil && !bytes.Equal(t.without.Find(scaled).Text(), t.with.Find(scaled).Text()):
		return []fieldpath.Path{scaled}, nil
	default:
		return nil, nil
	}
}

// changes returns the paths at which two objects differ. They identify the elements of lists as the kind's schema does.
func (t *trial) changes(before, after *jsontree.Node) (paths []fieldpath.Path, err error) {
	options := threeway.Options{Report: func(c threeway.Change) { paths = append(paths, c.Path) }}
	for _, s := range []schema.Schema{t.preview.Subject.Schema(), schema.JSONMergePatch()} {
		// Lists that cannot be merged by key, such as those with duplicate keys, are compared as a whole.
		paths = nil
		if _, err = threeway.Merge(before.Text(), after.Text(), before.Text(), s, options); err == nil {
			return paths, nil
		}
	}
	return nil, err
}

// write returns the apply as a write, with what the manifests applied now and before declare.
func (t *trial) write() (w ownership.Write, err error) {
	w = ownership.Write{Live: t.preview.Subject.Object, ObjectContext: t.preview.Subject.Context, FieldManager: t.options.manager()}
	if w.Incoming, err = ownership.ParseObject(t.preview.With); err == nil {
		err = w.Read()
	}
	if err != nil {
		return w, err
	}
	if !t.options.ServerSide {
		w.Sender.Entry.Operation = ownership.OperationUpdate
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
