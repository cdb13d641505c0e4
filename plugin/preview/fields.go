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
	Path fieldpath.Path
	// Live, Without and With are its values as JSON, nil if the object does not have the field.
	Live, Without, With json.RawMessage
	// Why describes why the field changes or is kept.
	Why string
	// Acted reports whether handoff acts on the field. Decided is then its decision, nil if only the webhook knows it.
	Acted   bool
	Decided *merge.Change
}

// report is a preview that is being filled in.
type report struct {
	preview *Preview
	trial   *trial
	compare comparison
	// live, without and with are the objects as they are shown.
	live, without, with *jsontree.Node
	// used are the warnings that are the reason for a field.
	used map[string]bool
}

// fill fills in the fields: those that handoff acts on, followed by all others that the apply changes.
func (t *trial) fill(p *Preview, c comparison) error {
	r := report{preview: p, trial: t, compare: c, used: map[string]bool{}}
	var err error
	for to, text := range map[**jsontree.Node][]byte{&r.live: t.subject.Object.Text(), &r.without: c.without, &r.with: c.with} {
		if *to, err = plain(text); err != nil {
			return err
		}
	}
	differences, err := t.differences(r.without, r.with)
	if err != nil {
		return err
	}
	for i := range c.decided.Changes {
		r.addDecided(&c.decided.Changes[i], differences)
	}
	for _, path := range differences {
		r.addDifference(path)
	}
	if err := r.addOthers(); err != nil {
		return err
	}
	r.conclude()
	return nil
}

// conclude determines whether handoff keeps anything, and which warnings are about anything but the fields.
func (r *report) conclude() {
	p, unknown := r.preview, r.compare.without == nil
	p.keeps = r.compare.acts && unknown
	for i := range p.Fields {
		f := &p.Fields[i]
		p.keeps = p.keeps || f.Acted && (unknown || !bytes.Equal(f.Without, f.With))
	}
	for _, text := range r.compare.warnings {
		if !r.used[text] && !isMore(text) {
			p.Warnings = append(p.Warnings, text)
		}
	}
}

func (r *report) at(path fieldpath.Path) Field {
	return Field{Path: path, Live: r.live.Find(path).Text(), Without: r.without.Find(path).Text(), With: r.with.Find(path).Text()}
}

// addDecided adds a field of this program's decision if it is also handoff's.
func (r *report) addDecided(c *merge.Change, differences []fieldpath.Path) {
	f := r.at(c.Path)
	why, warned := r.warning(c.Path, c.Value())
	isDifferent := slices.ContainsFunc(differences, func(path fieldpath.Path) bool { return areNested(path, c.Path) })
	if !r.compare.local && !warned && !isDifferent {
		return // the configuration of the cluster is another
	}
	f.Acted, f.Decided, f.Why = true, c, becauseOf(c)
	if warned && why != f.Why {
		if f.Why = why; !strings.Contains(why, "...") {
			f.Decided = nil
		}
	}
	r.preview.Fields = append(r.preview.Fields, f)
}

// addDifference adds a field whose value handoff has changed. Other values can differ between two dry runs too, such as ports that
// the API server allocates.
func (r *report) addDifference(path fieldpath.Path) {
	if r.has(path) {
		return
	}
	f := r.at(path)
	var warned bool
	for n := len(path); n > 0 && !warned; n-- {
		f.Why, warned = r.warning(path[:n], f.With)
	}
	isCut := func(text string) bool { return isMore(text) || strings.Contains(text, " ...") }
	switch {
	case warned:
	case r.preview.Subject.IsSecret(), slices.ContainsFunc(r.compare.warnings, isCut):
		f.Why = "kept by handoff"
	default:
		return
	}
	f.Acted = true
	r.preview.Fields = append(r.preview.Fields, f)
}

// isMore reports whether a warning is only about the number of fields that no warning names.
func isMore(warning string) bool { return strings.HasSuffix(warning, " more fields") }

// has reports whether the fields contain a path, or one nested under it or above it.
func (r *report) has(path fieldpath.Path) bool {
	return slices.ContainsFunc(r.preview.Fields, func(f Field) bool { return areNested(f.Path, path) })
}

func areNested(a, b fieldpath.Path) bool {
	return ownership.HasPrefix(a, b) || ownership.HasPrefix(b, a)
}

// addOthers adds the other fields that the apply changes.
func (r *report) addOthers() error {
	if !r.preview.Subject.Object.Present() {
		return nil
	}
	with, err := ownership.ParseObject(r.compare.with)
	if err != nil {
		return err
	}
	reason, err := r.trial.reasons(with)
	if err != nil {
		return err
	}
	changes, err := r.trial.changes(r.live, r.with)
	if err != nil {
		return err
	}
	for _, path := range changes {
		if slices.ContainsFunc(r.preview.Fields, func(f Field) bool { return f.Path.Equals(path) }) {
			continue
		}
		f := r.at(path)
		if f.Why, f.Acted = r.warning(path, f.Live); !f.Acted {
			f.Why = reason(path, f.With != nil)
		}
		if r.without != nil && !f.Acted {
			f.Without = f.With
		}
		r.preview.Fields = append(r.preview.Fields, f)
	}
	slices.SortStableFunc(r.preview.Fields, func(a, b Field) int { return rank(a) - rank(b) })
	return nil
}

func rank(f Field) int {
	if f.Acted {
		return 0
	}
	return 1
}

// warning returns what a warning of handoff says about a field, without the path and the value.
func (r *report) warning(path fieldpath.Path, value []byte) (why string, ok bool) {
	for _, text := range r.compare.warnings {
		before, after, found := strings.Cut(strings.TrimPrefix(text, protocol.WarningPrefix)+" ", " "+path.String())
		if !found || !strings.ContainsAny(after[:1], "=,; ") {
			continue
		}
		r.used[text] = true
		if shown, hasValue := strings.CutPrefix(after, "="); hasValue {
			after = strings.TrimPrefix(shown, strings.Trim(string(value), `"`))
		}
		return strings.TrimSpace(strings.TrimSuffix(before, " with") + after), true // started with 7
	}
	return "", false
}

// plain returns an object without the metadata that the API server generates, without the last-applied annotation,
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
	root.Cut(ownership.LastAppliedPath(), isAnnotations)
	return jsontree.Valid(root.Remaining()), nil
}

// differ reports whether two objects differ in what is shown.
func (t *trial) differ(a, b []byte) (bool, error) {
	one, err := plain(a)
	if err != nil {
		return false, err
	}
	other, err := plain(b)
	if err != nil {
		return false, err
	}
	paths, err := t.differences(one, other)
	return len(paths) > 0, err
}

// differences returns the fields in which objects differ after applies without and with handoff. If the apply creates the object,
// handoff sets nothing but the scale field, and the API server generates other values for each dry run.
func (t *trial) differences(without, with *jsontree.Node) ([]fieldpath.Path, error) {
	scaled := t.subject.Context.Scale
	switch {
	case without == nil:
		return nil, nil
	case t.subject.Object.Present():
		return t.changes(without, with)
	case scaled != nil && !bytes.Equal(without.Find(scaled).Text(), with.Find(scaled).Text()):
		return []fieldpath.Path{scaled}, nil
	default:
		return nil, nil
	}
}

// changes returns the paths at which two objects differ. They identify the elements of lists as the kind's schema does.
func (t *trial) changes(before, after *jsontree.Node) (paths []fieldpath.Path, err error) {
	options := threeway.Options{Report: func(c threeway.Change) { paths = append(paths, c.Path) }}
	for _, s := range []schema.Schema{t.subject.Schema(), schema.JSONMergePatch()} {
		// Lists that cannot be merged by key, such as those with duplicate keys, are compared as a whole.
		paths = nil
		if _, err = threeway.MergeJSON(before.Text(), after.Text(), before.Text(), s, options); err == nil {
			return paths, nil
		}
	}
	return nil, err
}

func becauseOf(c *merge.Change) string {
	did := map[merge.Verdict]string{
		merge.Keep: "kept", merge.Clear: "cleared", merge.Start: "started", merge.ManifestWins: "not kept",
		merge.Removed: "removed",
	}[c.Decision.Verdict]
	before, name, after := c.Text(did, explain.Text(c.Path))
	return before + name + after
}

// reasons returns a function that returns why a field changes, according to the manifests.
func (t *trial) reasons(with ownership.Object) (func(path fieldpath.Path, stays bool) string, error) {
	w := ownership.Write{Live: t.subject.Object, Incoming: with, Managers: t.subject.Context.Managers}
	var err error
	if w.LiveEntries, err = w.Live.Entries(); err != nil {
		return nil, err
	}
	if w.IncomingEntries, err = with.Entries(); err != nil {
		return nil, err
	}
	sender := w.SentBy(t.options.manager())
	if !t.options.ServerSide {
		sender.Entry.Operation = ownership.OperationUpdate
	}
	manifests := w.Managers.ManifestsOf(sender, w.Live, with, w.LiveEntries)
	return func(path fieldpath.Path, stays bool) string {
		switch declared := manifests.On(path); {
		case declared.Manifest == ownership.Sets && stays: // kubectl records annotations even if they are empty
			return "set by the manifest"
		case declared.Manifest == ownership.Clears:
			return "cleared by the manifest"
		case declared.Base == ownership.Sets:
			return "removed from the manifest"
		default:
			return "set by the API server or another webhook"
		}
	}, nil
}
