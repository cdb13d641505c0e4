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
	// Autoscaler returns what targets an object, as "HorizontalPodAutoscaler web"; empty where nothing does.
	Autoscaler(namespace, group, kind, name string) string
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

// change is a decision about one field, for people to read.
type change struct {
	merge.Decision
	field          merge.Field
	path           string
	live, incoming string // the values, as JSON
	by             string
}

// evaluate takes a review through the packages: who owns the scale field, and what becomes of it.
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
	path := h.Cluster.ScalePath(r.kind.Group, r.kind.Version, r.kind.Kind)
	if path == nil || r.live.Value(path) == nil {
		return out, nil // no scale field, or nothing to keep
	}
	err := h.evaluateField(r, path, &out)
	return out, err
}

// intercepted is row 11 of the decision table, and what has no live object to keep anything of.
func intercepted(r *review) bool {
	return r.operation == "UPDATE" && r.subResource == "" && r.incoming.Present() && r.live.Present()
}

func (h *Handler) evaluateField(r *review, path fieldpath.Path, out *outcome) error {
	w, err := h.writeOf(r)
	if err != nil {
		return err
	}
	if w.Author.Writer == ownership.OtherWriter {
		return nil // row 10, before anything is spent on it
	}
	controlled, notes := h.controlled(r, path)
	out.notes = append(out.notes, notes...)
	field, by, declared, err := h.fieldOf(r, w, path, controlled)
	if err != nil {
		return err
	}
	c := change{
		Decision: merge.Decide(field), field: field, by: by, path: path.String(),
		live: string(r.live.Value(path)), incoming: string(r.incoming.Value(path)),
	}
	switch {
	case c.Verdict == merge.Warn && field.Changed:
		return out.warn(c)
	case c.Verdict == merge.Keep && w.ContainerStands(path):
		return out.keep(w, c, path, declared.Recorded)
	}
	return nil
}

// warn adds a field that its owner may set again to the outcome.
func (out *outcome) warn(c change) error {
	if err := wholeNumbers(c.live, c.incoming); err != nil {
		return err
	}
	out.changes = append(out.changes, c)
	return nil
}

// keep adds a field that is kept to the outcome, unless it already is as it should be.
func (out *outcome) keep(w merge.Write, c change, path fieldpath.Path, recorded bool) error {
	if err := wholeNumbers(c.live, c.incoming); err != nil {
		return err
	}
	held := c.field.Owner == ownership.Autoscaler || c.field.Owner == ownership.Controller
	operations, err := w.Keep([]merge.Kept{{Path: path, Held: held}}, recorded)
	if err != nil {
		return fmt.Errorf("keeping %s: %w", path, err)
	}
	if len(operations) == 0 {
		return nil
	}
	out.changes = append(out.changes, c)
	if out.mode == modeEnforce {
		out.operations = operations
	}
	return nil
}

// wholeNumbers refuses values that no scale can have, which is an int32 from 0 (k8s.io/api/autoscaling/v1, ScaleSpec): what
// is reported can then be nothing but a number. An incoming value that is not there or null is one let go of.
func wholeNumbers(live, incoming string) error {
	if incoming == "" || incoming == "null" {
		incoming = "0"
	}
	for _, value := range []string{live, incoming} {
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
	incoming, err := r.incoming.Entries()
	if err != nil {
		return merge.Write{}, fmt.Errorf("object: %w", err)
	}
	return merge.Write{
		Live: r.live, Incoming: r.incoming, LiveEntries: live, IncomingEntries: incoming,
		Author: h.Managers.Author(r.fieldManager, live, incoming), Managers: h.Managers,
	}, nil
}

// fieldOf returns the scale field as the decision table sees it, and the party that owns it.
func (h *Handler) fieldOf(r *review, w merge.Write, path fieldpath.Path, controlled bool) (
	field merge.Field, by string, declared ownership.Declared, err error,
) {
	if w.Author.Writer == ownership.Applier {
		declared, err = ownership.DeclaredBy(w.Author, r.live, r.incoming, w.LiveEntries, path)
		if err != nil {
			return field, "", declared, err
		}
	}
	context := ownership.Context{
		Managers: h.Managers, Scale: true, Controlled: controlled,
		Autoscaler: h.Cluster.Autoscaler(r.namespace, r.kind.Group, r.kind.Kind, r.name),
	}
	owned := context.Resolve(path, w.LiveEntries, declared.Base)
	return merge.Field{
		Owner: owned.Owner, Writer: w.Author.Writer, Manifest: declared.Manifest, Base: declared.Base, Scale: true,
		Changed: !bytes.Equal(r.live.Value(path), r.incoming.Value(path)),
	}, owned.By, declared, nil
}

// controlled says whether a rule of the configuration or of the object gives the field to controllers. A path of the
// object's that does not parse counts for nothing and is noted.
func (h *Handler) controlled(r *review, path fieldpath.Path) (controlled bool, notes []string) {
	for _, rule := range h.Rules {
		if rule.Names(r.kind.Group, r.kind.Kind, path) {
			return true, nil
		}
	}
	text, _ := r.incoming.ControllerFields()
	patterns, err := ownership.ParseControllerFields(text)
	if err != nil {
		notes = append(notes, warningOf("", "annotation controller-fields: "+err.Error(), ""))
	}
	for _, pattern := range patterns {
		if pattern.Matches(path) {
			return true, notes
		}
	}
	return false, notes
}
