// Package explain shows who owns each field of an object, as a tree, a table, data or sentences. Packages ownership and merge
// determine the owners and decisions.
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
	Subject source.Subject
	Fields  ownership.Fields
	// recorded reports whether the object has a last-applied annotation.
	recorded bool
	// applier is the entry of a manager that has applied the object server-side, the zero Entry if there is none.
	applier ownership.Entry
}

// Of explains a subject. It returns an error if no owner at all is known. If some are, missing records are gaps.
func Of(s source.Subject) (Explanation, error) {
	e := Explanation{Subject: s}
	var err error
	if e.Fields, err = s.Context.Fields(s.Object); err != nil {
		return e, &Error{s.String(), unreadable(s, err) + "; apply the object again to rewrite it"}
	}
	e.Fields = slices.DeleteFunc(e.Fields, func(f ownership.Field) bool { return s.Nameless(f.Path) })
	e.date()
	_, e.recorded = s.Object.LastApplied()
	for i := range e.Fields {
		if e.applier.Manager == "" {
			e.applier = e.applied(&e.Fields[i])
		}
	}
	if len(s.Object.ManagedFields()) == 0 {
		if !e.anyOwner() {
			return e, &Error{s.String(), "no managedFields, so the owners of its fields are unknown; " +
				"export it with kubectl get -o yaml --show-managed-fields"}
		}
		e.gap("no managedFields, so owners are known only from annotations and autoscalers; " +
			"export it with kubectl get -o yaml --show-managed-fields")
	}
	if client := e.unrecorded(); client != "" {
		e.gap("no last-applied annotation, so the fields that the manifest of " + client + " declares are unknown; " +
			"check the manifest itself")
	}
	return e, nil
}

// unreadable describes the error of an unreadable record. For a Secret it omits the details, which can quote the contents.
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

// date adds the time when the autoscaler last scaled: managedFields entries of /scale have no time.
func (e *Explanation) date() {
	for i := range e.Fields {
		f := &e.Fields[i]
		own := f.Owner.Kind == ownership.Autoscaler && len(f.Entries) > 0 && f.Entries[0].Subresource == "scale"
		if own && f.Since == "" && !e.Subject.Context.Managers.IsImperative(f.Entries[0]) {
			f.Since = e.Subject.Scaled
		}
	}
}

// Error is an error about one object.
type Error struct{ Object, Text string }

// Error implements error.
func (e *Error) Error() string { return e.Object + ": " + e.Text }

func (e *Explanation) gap(text string) {
	e.Subject.Gaps = append(e.Subject.Gaps, e.Subject.String()+": "+text)
}

// anyOwner reports whether any owner is known.
func (e *Explanation) anyOwner() bool {
	for i := range e.Fields {
		if e.Fields[i].Owner.Kind != ownership.Unknown {
			return true
		}
	}
	return false
}

// unrecorded returns a client that applies a manifest without recording it, such as Helm 3, or "".
func (e *Explanation) unrecorded() string {
	if e.recorded {
		return ""
	}
	for i := range e.Fields {
		for _, h := range e.Fields[i].Entries {
			if h.Operation == ownership.OperationUpdate && e.Subject.Context.Managers.IsApplier(h) {
				return h.Manager
			}
		}
	}
	return ""
}

// Select returns the explanation with only the chosen fields.
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

// declared returns what the recorded manifests declare about a field: "yes", "no", "null", a value that differs from the
// field's, or "?" if its manager does not record its manifest.
func (e *Explanation) declared(f *ownership.Field) string {
	switch {
	case f.Declared == ownership.Clears:
		return "null"
	case f.DeclaredValue != nil:
		return e.Subject.Show(f.Path, f.DeclaredValue)
	case f.Declared == ownership.Sets, e.applied(f).Manager != "":
		return "yes"
	case e.mayHaveLost(f):
		return "?"
	}
	for _, h := range f.Entries {
		if !e.recorded && e.Subject.Context.Managers.IsApplier(h) {
			return "?"
		}
	}
	return "no"
}

// applied returns the entry of a manager that has applied a field server-side, the zero Entry if there is none.
func (e *Explanation) applied(f *ownership.Field) ownership.Entry {
	for _, h := range f.Entries {
		if h.Operation == ownership.OperationApply && e.Subject.Context.Managers.IsApplier(h) {
			return h
		}
	}
	return ownership.Entry{}
}

// mayHaveLost reports whether another manager has written a field since a server-side apply. If the manifest sets the field too,
// the API server has removed it from the applier's entry then.
func (e *Explanation) mayHaveLost(f *ownership.Field) bool {
	if e.recorded || e.applier.Manager == "" || inStatus(f) {
		return false
	}
	switch f.Owner.Kind {
	case ownership.Autoscaler, ownership.Controller, ownership.Imperative, ownership.Other:
		// RFC 3339 in UTC, as the API server writes it, sorts by time. Entries of /scale have none.
		return f.Since == "" || f.Since >= e.applier.Time
	default:
		return false
	}
}

// Short returns a value as the tree shows it: shortened, and masked for the contents of a Secret.
func (e Explanation) Short(path fieldpath.Path, value []byte) string {
	return table.Shorten(e.Subject.Show(path, value), maxValueLen)
}
