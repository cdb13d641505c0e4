package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

var (
	errNotReady   = errors.New("handoff has just started and does not know the cluster yet")
	errNotANumber = errors.New("the scale field is not a whole number")
)

// Cluster is what the webhook has to know beyond a review.
type Cluster interface {
	// Ready says whether the answers of the other methods are to be relied on.
	Ready() bool
	// NamespaceMode returns a namespace's mode annotation; ok is false where it has none.
	NamespaceMode(namespace string) (mode string, ok bool)
	// ScalePath returns the path of the scale field of a kind, nil where the kind has none.
	ScalePath(group, version, kind string) fieldpath.Path
	// Autoscaler returns what targets an object, as "HorizontalPodAutoscaler web", and how many replicas it wants; empty
	// where nothing does.
	Autoscaler(namespace, group, kind, name string) (autoscaler string, desired int64)
}

// outcome is what is decided for a review. The zero outcome lets the write through without a word.
type outcome struct {
	mode    mode
	changes []change
	// notes are what is wrong with how namespace or object are annotated.
	notes []string
	// operations make the incoming object what it should be; none under warn.
	operations []jsonpatch.Operation
}

// evaluate takes a review through the packages: which fields are contested, who owns each, and what becomes of it.
func (h *Handler) evaluate(r *review) (outcome, error) {
	if !intercepted(r) {
		return outcome{}, nil
	}
	if !h.Cluster.Ready() {
		return outcome{}, errNotReady
	}
	var out outcome
	if out.mode, out.notes = h.modeOf(r); out.mode == modeOff {
		return outcome{}, nil
	}
	evaluate := h.evaluateWrite
	if r.operation == "CREATE" {
		evaluate, r.live = h.evaluateCreate, ownership.Object{}
	}
	err := evaluate(r, &out)
	return out, err
}

// intercepted is row 11 of the decision table, and what has nothing to decide on.
func intercepted(r *review) bool {
	wanted := r.operation == "CREATE" || r.operation == "UPDATE" && r.live.Present()
	return wanted && r.subResource == "" && r.incoming.Present()
}

func (h *Handler) evaluateWrite(r *review, out *outcome) error {
	w, err := h.writeOf(r)
	if err != nil {
		return err
	}
	if w.Author.Writer == ownership.OtherWriter {
		return nil // row 10, before anything is spent on it
	}
	contested, err := h.contested(r, w, out)
	if err != nil {
		return err
	}
	var kept []merge.Kept
	for _, path := range contested.paths {
		c := h.decide(r, w, contested, path)
		switch {
		case c.verdict == merge.Warn && c.field.Changed:
			if err := c.checkScale(); err != nil {
				return err
			}
			out.changes = append(out.changes, c)
		case c.verdict == merge.Keep && w.ContainerStands(path):
			if err := c.checkScale(); err != nil {
				return err
			}
			out.changes = append(out.changes, c)
			kept = append(kept, merge.Kept{Path: path, Held: c.field.Held()})
		}
	}
	stale := h.stale(r, w, contested)
	return out.rewrite(w, kept, stale, contested.manifests.Recorded)
}

// rewrite makes the operations for the fields that are kept and those that are cleared, and forgets those that are already
// as they should be.
func (out *outcome) rewrite(w merge.Write, kept []merge.Kept, stale []change, recorded bool) error {
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
		out.changes = nil // already as it should be
	}
	out.changes = append(out.changes, stale...)
	operations = append(cleared, operations...)
	if out.mode == modeEnforce {
		out.operations = operations
	}
	return nil
}

// decide looks one field up in the decision table.
func (h *Handler) decide(r *review, w merge.Write, contested contested, path fieldpath.Path) change {
	declared := contested.manifests.On(path)
	context := contested.contextOf(path)
	owned := context.Resolve(path, w.LiveEntries, declared.Base)
	live, incoming := r.live.Value(path), r.incoming.Value(path)
	field := merge.Field{
		Owner: owned.Owner, Writer: w.Author.Writer, Manifest: declared.Manifest, Base: declared.Base,
		Scale: context.Scale, Changed: !bytes.Equal(live, incoming),
	}
	c := changeOf(path, field, owned.By, string(live), string(incoming))
	c.secret = r.kind.Group == "" && r.kind.Kind == "Secret"
	return c
}

// checkScale refuses values of the scale field that no scale can have, which is an int32 from 0 (k8s.io/api/autoscaling/v1,
// ScaleSpec): what is reported can then be nothing but a number. An incoming value that is not there or null is one let go of.
func (c change) checkScale() error {
	if !c.field.Scale {
		return nil
	}
	incoming := c.incoming
	if incoming == "" || incoming == "null" {
		incoming = "0"
	}
	for _, value := range []string{c.value(), incoming} {
		if _, err := strconv.ParseUint(value, 10, 31); err != nil {
			return errNotANumber
		}
	}
	return nil
}

func (h *Handler) writeOf(r *review) (merge.Write, error) {
	live, err := r.live.Entries()
	if err != nil {
		return merge.Write{}, fmt.Errorf("oldObject: %w", err)
	}
	incoming, err := r.incoming.Entries(live...)
	if err != nil {
		return merge.Write{}, fmt.Errorf("object: %w", err)
	}
	return merge.Write{
		Live: r.live, Incoming: r.incoming, LiveEntries: live, IncomingEntries: incoming,
		Author: h.Managers.Author(r.fieldManager, live, incoming), Managers: h.Managers,
	}, nil
}
