package preview

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Field is a field that an apply changes, or that handoff acts on.
type Field struct {
	Path fieldpath.Path `json:"-"`
	Name string         `json:"path"`
	// Live, Without and With are its values as JSON, nil if the object does not have the field.
	Live    json.RawMessage `json:"live,omitempty"`
	Without json.RawMessage `json:"without,omitempty"`
	With    json.RawMessage `json:"with,omitempty"`
	// Why describes why the field changes or is kept.
	Why string `json:"why"`
	// Acted reports whether handoff acts on the field.
	Acted bool `json:"-"`
	// Verdict is what handoff does, Decision the name of the row in the decision table, as "keep-autoscaled", Row its number,
	// and Owner and By name the field's owner. They are missing if handoff does not act on the field, or only the webhook knows.
	Verdict  string `json:"verdict,omitempty"`
	Decision string `json:"decision,omitempty"`
	Row      int    `json:"row,omitempty"`
	Owner    string `json:"owner,omitempty"`
	By       string `json:"by,omitempty"`
}

// fill fills in the fields: those that handoff acts on, followed by all others that the apply changes.
func (t *trial) fill() error {
	differences, err := t.differences()
	if err != nil {
		return err
	}
	for _, c := range t.decided.Changes {
		t.addDecided(c, differences)
	}
	for _, path := range differences {
		t.addDifference(path)
	}
	if err := t.addOthers(); err != nil {
		return err
	}
	t.preview.keeps = t.preview.Acts && t.preview.Without == nil
	for i := range t.preview.Fields {
		f := &t.preview.Fields[i]
		t.preview.keeps = t.preview.keeps || f.Acted && (t.preview.Without == nil || !bytes.Equal(f.Without, f.With))
	}
	for _, text := range t.warnings {
		if !t.used[text] && !isMore(text) {
			t.preview.Warnings = append(t.preview.Warnings, text)
		}
	}
	return nil
}

func (t *trial) at(path fieldpath.Path) Field {
	return Field{
		Path: path, Name: explain.Text(path),
		Live: t.live.Find(path).Text(), Without: t.without.Find(path).Text(), With: t.with.Find(path).Text(),
	}
}

// addDecided adds a field of this program's decision if it is also handoff's.
func (t *trial) addDecided(c *merge.Change, differences []fieldpath.Path) {
	why, warned := t.warning(c.Field.Path, c.Field.Live)
	isDifferent := slices.ContainsFunc(differences, func(path fieldpath.Path) bool { return areNested(path, c.Field.Path) })
	if !t.decidedHere && !warned && !isDifferent {
		return // the configuration of the cluster is another
	}
	f := t.at(c.Field.Path)
	f.Acted, f.Why = true, because(c, f.Name)
	isOurs := !warned || why == f.Why
	if !isOurs {
		f.Why = why
	}
	if isOurs || strings.Contains(why, "...") {
		f.Verdict, f.Decision, f.Row = string(c.Decision.Verdict), c.Decision.Name, c.Decision.Row
		f.Owner, f.By = c.Field.Owner.Kind.String(), c.Field.Owner.By
	}
	t.preview.Fields = append(t.preview.Fields, f)
}

// addDifference adds a field whose value handoff has changed. Other values can differ between two dry runs too, such as ports that
// the API server allocates.
func (t *trial) addDifference(path fieldpath.Path) {
	if slices.ContainsFunc(t.preview.Fields, func(f Field) bool { return areNested(f.Path, path) }) {
		return
	}
	f := t.at(path)
	for n := len(path); n > 0 && !f.Acted; n-- {
		f.Why, f.Acted = t.warning(path[:n], f.With)
	}
	isCut := func(text string) bool { return isMore(text) || strings.Contains(text, " ...") }
	if !f.Acted && (t.preview.Subject.IsSecret() || slices.ContainsFunc(t.warnings, isCut)) {
		f.Why, f.Acted = "kept by handoff", true
	}
	if f.Acted {
		t.preview.Fields = append(t.preview.Fields, f)
	}
}

// isMore reports whether a warning is only about the number of fields that no warning names.
func isMore(warning string) bool { return strings.HasSuffix(warning, " more fields") }

func areNested(a, b fieldpath.Path) bool {
	return ownership.HasPrefix(a, b) || ownership.HasPrefix(b, a)
}

// addOthers adds the other fields that the apply changes.
func (t *trial) addOthers() error {
	if !t.preview.Subject.Object.Present() {
		return nil
	}
	manifests, err := t.manifests()
	if err != nil {
		return err
	}
	changes, err := t.changes(t.live, t.with)
	if err != nil {
		return err
	}
	var acted, others []Field
	for _, path := range changes {
		if slices.ContainsFunc(t.preview.Fields, func(f Field) bool { return f.Path.Equals(path) }) {
			continue
		}
		f := t.at(path)
		if f.Why, f.Acted = t.warning(path, f.Live); f.Acted {
			acted = append(acted, f)
			continue
		}
		f.Why = reason(manifests.On(path), f.With != nil)
		if t.without != nil {
			f.Without = f.With
		}
		others = append(others, f)
	}
	t.preview.Fields = slices.Concat(t.preview.Fields, acted, others)
	return nil
}

// warning returns what a warning of handoff says about a field, without the path and the value.
func (t *trial) warning(path fieldpath.Path, value []byte) (why string, ok bool) {
	for _, text := range t.warnings {
		before, after, found := strings.Cut(strings.TrimPrefix(text, protocol.WarningPrefix)+" ", " "+path.String())
		if !found || !strings.ContainsAny(after[:1], "=,; ") {
			continue
		}
		t.used[text] = true
		if shown, hasValue := strings.CutPrefix(after, "="); hasValue {
			after = strings.TrimPrefix(shown, strings.Trim(string(value), `"`))
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
	case t.preview.Subject.Object.Present():
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

// because returns the reason of a decision of this program, as in the webhook's warnings.
func because(c *merge.Change, name string) string {
	did := map[merge.Verdict]string{
		merge.Keep: "kept", merge.Clear: "cleared", merge.Start: "started", merge.ManifestWins: "not kept",
		merge.Removed: "removed",
	}[c.Decision.Verdict]
	before, owner, after := c.Text(did, name)
	return before + owner + after
}

// manifests returns what the manifests applied now and before declare.
func (t *trial) manifests() (m ownership.Manifests, err error) {
	with, err := ownership.ParseObject(t.preview.With)
	if err != nil {
		return m, err
	}
	w := ownership.Write{Live: t.preview.Subject.Object, Incoming: with, Managers: t.preview.Subject.Context.Managers}
	if w.LiveEntries, err = w.Live.Entries(); err != nil {
		return m, err
	}
	if w.IncomingEntries, err = with.Entries(); err != nil {
		return m, err
	}
	sender := w.SentBy(t.options.manager())
	if !t.options.ServerSide {
		sender.Entry.Operation = ownership.OperationUpdate
	}
	return w.Managers.ManifestsOf(sender, w.Live, with, w.LiveEntries), nil
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
