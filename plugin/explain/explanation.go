// Package explain shows who owns each field of an object, as a tree, a table, data or sentences. Packages ownership and merge
// determine the owners and decisions.
package explain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ownership-handoff/handoff/internal/managedfields"
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
		for _, record := range []error{ownership.ErrManagedFields, ownership.ErrLastApplied} {
			if s.IsSecret() && errors.Is(err, record) { // the details can quote the contents
				err = record
			}
		}
		return e, fmt.Errorf("%s: %w; apply the object again to rewrite it", s, err)
	}
	e.Fields = slices.DeleteFunc(e.Fields, func(f ownership.Field) bool { return s.Nameless(f.Path) })
	_, e.recorded = s.Object.LastApplied()
	isOwned, unrecorded := false, ""
	for i := range e.Fields {
		f := &e.Fields[i]
		isOwned = isOwned || f.Owner.Kind != ownership.Unknown
		if e.applier.Manager == "" {
			e.applier = e.applied(f)
		}
		for _, entry := range f.Entries {
			if entry.Operation == managedfields.OperationUpdate && s.Context.Managers.IsApplier(entry) {
				unrecorded = cmp.Or(unrecorded, entry.Manager)
			}
		}
		scales := f.Owner.Kind == ownership.Autoscaler && len(f.Entries) > 0 && f.Entries[0].Subresource == "scale"
		if scales && f.Since == "" && !s.Context.Managers.IsImperative(f.Entries[0]) {
			f.Since = s.Scaled // entries of /scale have no time
		}
	}
	if len(s.Object.ManagedFields()) == 0 {
		e.Subject.Gap("no managedFields, so owners are known only from annotations and autoscalers; " +
			"export it with kubectl get -o yaml --show-managed-fields")
		if !isOwned {
			return e, errors.New(e.Subject.Gaps[len(e.Subject.Gaps)-1])
		}
	}
	if unrecorded != "" && !e.recorded {
		e.Subject.Gap("no last-applied annotation, so the fields that the manifest of %s declares are unknown; check the manifest itself",
			unrecorded)
	}
	return e, nil
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
	case e.mayHaveLost(f), !e.recorded && slices.ContainsFunc(f.Entries, e.Subject.Context.Managers.IsApplier):
		return "?"
	default:
		return "no"
	}
}

// applied returns the entry of a manager that has applied a field server-side, the zero Entry if there is none.
func (e *Explanation) applied(f *ownership.Field) ownership.Entry {
	for _, h := range f.Entries {
		if h.Operation == managedfields.OperationApply && e.Subject.Context.Managers.IsApplier(h) {
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

func inStatus(f *ownership.Field) bool {
	return f.Path[0].FieldName != nil && *f.Path[0].FieldName == "status"
}
