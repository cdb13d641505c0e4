// Package explanation says whose the fields of an object are: as a tree, a table, data or a sentence. All that it says comes
// from ownership and merge.
package explain

import (
	"errors"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Explanation is an object with all of its fields.
type Explanation struct {
	source.Subject
	Fields ownership.Fields
	// recorded says that the object has a last-applied annotation.
	recorded bool
	// applier has applied the object server-side; empty where nobody has.
	applier string
}

// Of explains a subject. Where nothing at all tells whose its fields are, that is an error; where something does, what is
// missing is a gap.
func Of(s source.Subject) (Explanation, error) {
	e := Explanation{Subject: s}
	var err error
	if e.Fields, err = s.Context.Fields(s.Object); err != nil {
		return e, &Error{s.String(), unreadable(s, err) + "; apply the object again, which writes it anew"}
	}
	e.Fields = slices.DeleteFunc(e.Fields, func(f ownership.Field) bool { return s.Nameless(f.Path) })
	e.date()
	_, e.recorded = s.Object.LastApplied()
	for i := range e.Fields {
		if e.applier == "" {
			e.applier = e.applied(&e.Fields[i])
		}
	}
	if len(s.Object.ManagedFields()) == 0 {
		if !e.anything() {
			return e, &Error{s.String(), "it has no managedFields, and so nothing tells whose its fields are; " +
				"save it with kubectl get -o yaml --show-managed-fields"}
		}
		e.gap("it has no managedFields: only what its annotations and autoscalers tell is known; " +
			"save it with kubectl get -o yaml --show-managed-fields")
	}
	if client := e.unrecorded(); client != "" {
		e.gap("it has no last-applied annotation, so that what the manifest of " + client + " declares is not known; " +
			"look into the manifest itself")
	}
	return e, nil
}

// unreadable says what of a record cannot be read. The details can quote it, and a Secret's records hold its values.
func unreadable(s source.Subject, err error) string {
	if !s.IsSecret() {
		return err.Error()
	}
	for _, record := range []error{ownership.ErrManagedFields, ownership.ErrLastApplied} {
		if errors.Is(err, record) {
			return record.Error()
		}
	}
	return "it cannot be read"
}

// date adds when the autoscaler has scaled: an entry of /scale has no time.
func (e *Explanation) date() {
	for i := range e.Fields {
		f := &e.Fields[i]
		own := f.Owner == ownership.Autoscaler && len(f.Holders) > 0 && f.Holders[0].Subresource == "scale"
		if own && f.Since == "" && !e.Context.Managers.IsImperative(f.Holders[0]) {
			f.Since = e.Scaled
		}
	}
}

// Error is what is wrong with one object.
type Error struct{ Object, Text string }

// Error implements error.
func (e *Error) Error() string { return e.Object + ": " + e.Text }

func (e *Explanation) gap(text string) { e.Gaps = append(e.Gaps, e.String()+": "+text) }

// anything says whether any owner is known.
func (e *Explanation) anything() bool {
	for i := range e.Fields {
		if e.Fields[i].Owner != ownership.Unknown {
			return true
		}
	}
	return false
}

// unrecorded names a client that speaks for a manifest and records it nowhere, as Helm 3 does; empty where there is none.
func (e *Explanation) unrecorded() string {
	if e.recorded {
		return ""
	}
	for i := range e.Fields {
		for _, h := range e.Fields[i].Holders {
			if h.Operation == ownership.OperationUpdate && e.Context.Managers.IsApplier(h) {
				return h.Manager
			}
		}
	}
	return ""
}

// Select leaves the fields that are chosen.
func (e Explanation) Select(chosen func(ownership.Field) bool) Explanation {
	var fields ownership.Fields
	for i := range e.Fields {
		if chosen(e.Fields[i]) {
			fields = append(fields, e.Fields[i])
		}
	}
	e.Fields = fields
	return e
}

// declared is what the object records of a manifest about a field: "yes", "no", another value than the field's, or "?"
// where the only manifest is one that is recorded nowhere.
func (e *Explanation) declared(f *ownership.Field) string {
	switch {
	case f.Declared == ownership.Clears:
		return "null"
	case f.DeclaredValue != nil:
		return e.Show(f.Path, f.DeclaredValue)
	case f.Declared == ownership.Sets, e.applied(f) != "":
		return "yes"
	}
	for _, h := range f.Holders {
		if !e.recorded && e.Context.Managers.IsApplier(h) {
			return "?"
		}
	}
	return "no"
}

// applied names who has applied a field server-side; empty where nobody has.
func (e *Explanation) applied(f *ownership.Field) string {
	for _, h := range f.Holders {
		if h.Operation == ownership.OperationApply && e.Context.Managers.IsApplier(h) {
			return h.Manager
		}
	}
	return ""
}

// Short returns the text of a value of the object, as short as a tree shows it. What a Secret holds is not shown.
func (e Explanation) Short(path fieldpath.Path, value []byte) string {
	return table.Shorten(e.Show(path, value), mostValue)
}
