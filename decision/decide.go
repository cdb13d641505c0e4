package decision

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// ErrNotANumber is returned for a scale field whose value no scale can have.
var ErrNotANumber = errors.New("the scale field is not a whole number")

// Request is a write to an object itself, as admission sees it.
type Request struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// FieldManager is that of the request's options, or empty.
	FieldManager string
	// Live is the object as stored, the zero Object when the write creates it; Incoming as it is about to be stored.
	Live, Incoming ownership.Object
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

// Decide takes a write through the table. The error is ErrNotANumber, ownership.ErrManagedFields or ownership.ErrLastApplied.
func (t Table) Decide(r Request) (out Outcome, err error) {
	if r.Live.Present() {
		err = t.decideWrite(r, &out)
	} else {
		err = t.decideCreate(r, &out)
	}
	return out, err
}

func (t Table) decideWrite(r Request, out *Outcome) error {
	w, err := t.writeOf(r)
	if err != nil {
		return err
	}
	if w.Author.Writer == ownership.OtherWriter {
		return nil // row 10, before anything is spent on it
	}
	contested, err := t.contested(r, w, out)
	if err != nil {
		return err
	}
	var kept []merge.Kept
	for _, path := range contested.paths {
		c := decideField(r, w, contested, path)
		switch {
		case c.Verdict == merge.Warn && c.Field.Changed:
			if err := c.checkScale(); err != nil {
				return err
			}
			out.Changes = append(out.Changes, c)
		case c.Verdict == merge.Keep && w.ContainerStands(path):
			if err := c.checkScale(); err != nil {
				return err
			}
			out.Changes = append(out.Changes, c)
			kept = append(kept, merge.Kept{Path: path, Held: c.Field.Held()})
		}
	}
	stale := stale(r, w, contested)
	return out.rewrite(w, kept, stale, contested.manifests.Recorded)
}

// rewrite makes the operations for the fields that are kept and those that are cleared, and forgets those that are already
// as they should be.
func (out *Outcome) rewrite(w merge.Write, kept []merge.Kept, stale []Change, recorded bool) error {
	if len(kept)+len(stale) == 0 {
		return nil
	}
	w, cleared, err := w.Clear(pathsOf(stale))
	if err != nil {
		return fmt.Errorf("clearing %s: %w", stale[0].Path, err)
	}
	operations, err := w.Keep(kept, recorded)
	if err != nil {
		return fmt.Errorf("keeping %d fields: %w", len(kept), err)
	}
	if len(operations) == 0 {
		out.Changes = nil // already as it should be
	}
	out.Changes = append(out.Changes, stale...)
	out.Operations = slices.Concat(cleared, operations)
	return nil
}

// decideField looks one field up in the decision table.
func decideField(r Request, w merge.Write, contested contested, path fieldpath.Path) Change {
	declared := contested.manifests.On(path)
	context := contested.contextOf(path)
	owned := context.Resolve(path, w.LiveEntries, declared.Base)
	live, incoming := r.Live.Value(path), r.Incoming.Value(path)
	return changeOf(path, merge.Field{
		Owner: owned.Owner, Writer: w.Author.Writer, Manifest: declared.Manifest, Base: declared.Base,
		Scale: context.Scale, Changed: !bytes.Equal(live, incoming),
	}, owned.By, string(live), string(incoming))
}

// checkScale refuses values of the scale field that no scale can have, which is an int32 from 0 (k8s.io/api/autoscaling/v1,
// ScaleSpec): what is reported can then be nothing but a number. An incoming value that is not there or null is one let go of.
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

func (t Table) writeOf(r Request) (merge.Write, error) {
	live, err := r.Live.Entries()
	if err != nil {
		return merge.Write{}, fmt.Errorf("oldObject: %w", err)
	}
	incoming, err := r.Incoming.Entries(live...)
	if err != nil {
		return merge.Write{}, fmt.Errorf("object: %w", err)
	}
	return merge.Write{
		Live: r.Live, Incoming: r.Incoming, LiveEntries: live, IncomingEntries: incoming,
		Author: t.Managers.Author(r.FieldManager, live, incoming), Managers: t.Managers,
	}, nil
}
