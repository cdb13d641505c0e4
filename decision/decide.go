package decision

import (
	"errors"
	"fmt"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

var (
	// ErrNotANumber is returned for a scale field whose value no scale can have.
	ErrNotANumber = errors.New("the scale field is not an integer")
	// ErrBudget is returned for a write on which more work would be needed than Request.Meter allows.
	ErrBudget = errors.New("the work budget is spent")
)

// Request is a write to an object itself, as admission sees it.
type Request struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// FieldManager is that of the request's options, or empty.
	FieldManager string
	// Live is the object as stored, the zero Object when the write creates it; Incoming as it is about to be stored.
	Live, Incoming ownership.Object
	// Meter bounds the work; nil does not. Where it ends the work, the error is ErrBudget.
	Meter ownership.Meter
}

// Outcome is what is decided for a write. The zero Outcome lets it through without a word.
type Outcome struct {
	// Changes are the fields that do not become what the writer sent, and those that the writer is to be warned about.
	Changes []Change
	// Operations make the incoming object what it should be.
	Operations []jsonpatch.Operation
	// Unread says which of the object's annotation ownership.ControllerFieldsAnnotation could not be read, and counts for
	// nothing; nil where all could.
	Unread error
}

// Cluster is what has to be known beyond a write.
type Cluster interface {
	// ScalePath returns the path of the scale field of a kind, nil where the kind has none.
	ScalePath(group, version, kind string) fieldpath.Path
	// Autoscaler returns what targets an object, as "HorizontalPodAutoscaler web", and how many replicas it wants; empty
	// where nothing does.
	Autoscaler(namespace, group, kind, name string) (autoscaler string, desired int64)
}

// Table is the decision table with what it is asked by.
type Table struct {
	Cluster  Cluster
	Managers ownership.Managers
	Rules    []ownership.Rule
}

// Decide takes a write through the table. The error is ErrNotANumber, ErrBudget, merge.ErrNotWhole, ownership.ErrManagedFields
// or ownership.ErrLastApplied.
func (t Table) Decide(r Request) (Outcome, error) {
	meter := &meter{spend: r.Meter}
	if r.Meter != nil {
		r.Meter = meter.count
	}
	decide := t.decideWrite
	if !r.Live.Present() {
		decide = t.decideCreate
	}
	out, err := decide(r)
	if meter.over {
		return Outcome{Unread: out.Unread}, ErrBudget
	}
	return out, err
}

// meter remembers that the work was ended: what comes after that is not to be used, be it an error.
type meter struct {
	spend ownership.Meter
	over  bool
}

func (m *meter) count(steps int) bool {
	m.over = m.over || !m.spend(steps)
	return !m.over
}

func (t Table) decideWrite(r Request) (out Outcome, err error) {
	w, err := t.writeOf(r)
	if err != nil {
		return out, err
	}
	if w.Author.Writer == ownership.OtherWriter {
		return out, nil // row 10: nothing to do, so return before any work
	}
	context := t.contextOf(r)
	context.Controlled, out.Unread = t.patterns(r)
	contested, err := context.Contested(w)
	if err != nil {
		return out, err
	}
	var keep []Change
	for _, field := range contested {
		c := changeOf(field, w.Author.Writer)
		switch {
		case c.Verdict == merge.Keep:
			keep = append(keep, c)
		case c.Verdict == merge.Warn && c.Field.Changed:
			out.Changes = append(out.Changes, c)
		default:
			continue
		}
		if err := c.checkScale(); err != nil {
			return Outcome{}, err
		}
	}
	rewritten, err := rewrite(w, context, keep, stale(w, context))
	out.Changes, out.Operations = append(out.Changes, rewritten.Changes...), rewritten.Operations
	return out, err
}

// rewrite returns what becomes of fields that are to be kept and to be cleared. It says nothing of fields that are already as
// they should be.
func rewrite(w ownership.Write, context ownership.ObjectContext, keep, stale []Change) (out Outcome, err error) {
	if len(keep)+len(stale) == 0 {
		return out, nil
	}
	kept := make([]merge.Kept, len(keep))
	for i, c := range keep {
		kept[i] = merge.Kept{Path: c.Path, Scale: c.Field.Scale, ScaleIn: context.ScaleIn}
		if c.Verdict == merge.Start {
			kept[i].Value = []byte(c.Value())
		}
	}
	rewritten, err := merge.Rewrite(w, kept, pathsOf(stale))
	if err != nil {
		return out, fmt.Errorf("keeping %d fields, clearing %d: %w", len(keep), len(stale), err)
	}
	for i, c := range keep {
		reason, overruled := rewritten.Overruled[i]
		switch {
		case overruled:
			out.Changes = append(out.Changes, c.yielding(reason))
		case !rewritten.Gone[i] && len(rewritten.Operations) > len(stale):
			out.Changes = append(out.Changes, c)
		}
	}
	out.Changes = append(out.Changes, stale...)
	out.Operations = rewritten.Operations
	return out, nil
}

// checkScale refuses values of the scale field that no scale can have, which is an int32 from 0 (k8s.io/api/autoscaling/v1,
// ScaleSpec): what is reported can then be nothing but a number. An incoming value that is missing or null has been dropped.
func (c Change) checkScale() error {
	if !c.Field.Scale {
		return nil
	}
	incoming := c.Incoming
	if incoming == "" || incoming == "null" {
		incoming = "0"
	}
	for _, value := range []string{c.Value(), incoming} {
		if _, err := strconv.ParseUint(value, 10, 31); err != nil {
			return ErrNotANumber
		}
	}
	return nil
}

func (t Table) writeOf(r Request) (w ownership.Write, err error) {
	w = ownership.Write{Live: r.Live, Incoming: r.Incoming, Kind: r.Kind, Managers: t.Managers, Meter: r.Meter}
	if w.LiveEntries, err = r.Live.Entries(); err != nil {
		return w, fmt.Errorf("oldObject: %w", err)
	}
	if w.IncomingEntries, err = r.Incoming.Entries(w.LiveEntries...); err != nil {
		return w, fmt.Errorf("object: %w", err)
	}
	w.Author = t.Managers.Author(r.FieldManager, w.LiveEntries, w.IncomingEntries)
	if w.Author.Writer == ownership.Applier {
		w.Manifests, err = t.Managers.ManifestsOf(w.Author, r.Live, r.Incoming, w.LiveEntries)
	}
	return w, err
}
