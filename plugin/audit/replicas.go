package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// sizing is the record of a manifest that sets the scale field of an object.
type sizing struct {
	by        string
	nextApply string
	declared  ownership.Declaration
	// unrecorded reports whether the content of the manifest is not recorded.
	unrecorded bool
}

// replicas adds a risk if a manifest sets the scale field that an autoscaler owns. It is a risk even if both values are equal,
// or the autoscaler's bounds allow only one value: the next change of either makes them differ.
func (a *auditor) replicas(e explain.Explanation) {
	f := fieldAt(e.Fields, e.Subject.Context.Scale)
	switch {
	case f == nil || f.Value == nil:
		return
	case f.Owner.Kind != ownership.Autoscaler:
		if scalesToOne(e, f) {
			a.report.ToOne = append(a.report.ToOne, explain.ObjectOf(e.Subject))
		}
		return
	}
	found, ok := sizingOf(e, f)
	if !ok {
		if unrecorded(e, f) {
			a.report.Unrecorded = append(a.report.Unrecorded, explain.ObjectOf(e.Subject))
			if a.answerOf(e.Subject).Mode != ownership.ModeEnforce {
				a.report.Possible = append(a.report.Possible, fmt.Sprintf("%s: unknown whether its manifest sets %s, and the next apply "+
					"resets it: no record of the manifest is in the object", titleOf(e.Subject), explain.Text(f.Path)))
			}
		}
		return
	}
	now := e.Short(f.Path, f.Value)
	kept := ""
	if e.Keeps(f, found.declared, found.declared) {
		kept = now
	}
	answer := a.answerOf(e.Subject)
	r := riskOf(Replicas, e, answer, []ownership.Field{*f})
	r.Now, r.NextApply, r.Handoff = now, found.nextApply, handoff(answer, kept)
	r.Managers = []string{f.Owner.By, found.by}
	if r.Mode != ownership.ModeEnforce && kept != "" {
		r.Remedies = append(r.Remedies, a.enableRemedies(e.Subject, answer)...)
	}
	if !found.unrecorded {
		r.Remedies = append(r.Remedies, releaseCommand(e, r.Field))
	}
	r.Remedies = append(r.Remedies, "remove "+r.Field+" from the manifest, or apply again after deleting the autoscaler")
	a.add(r)
}

// scalesToOne reports whether replicas above 1 become 1 when a manifest drops them or, in a server-side apply, sets them to null.
func scalesToOne(e explain.Explanation, f *ownership.Field) bool {
	replicas, err := strconv.ParseUint(string(f.Value), 10, 31)
	if err != nil || replicas < 2 || f.Declared != ownership.Lacks {
		return false
	}
	return slices.ContainsFunc(f.Entries, func(h ownership.Entry) bool {
		return e.Subject.Context.Managers.IsApplier(h) && !h.Contains(ownership.LastAppliedPath())
	})
}

// lostRules reports whether an object lacks the annotation with fields of controllers that its last-applied configuration has.
func lostRules(s source.Subject) bool {
	if _, has := s.Object.ControllerFields(); has {
		return false
	}
	manifest, _ := s.Object.LastApplied()
	applied, err := ownership.ParseObject([]byte(manifest))
	if err != nil {
		return false
	}
	_, declared := applied.ControllerFields()
	return declared
}

// sizingOf returns the manifest that sets the scale field, according to the last-applied annotation, an Apply entry in
// managedFields, or the entry of a client that does not record its manifest.
func sizingOf(e explain.Explanation, f *ownership.Field) (sizing, bool) {
	by, same := cmp.Or(clientSideApplier(e), "last-applied"), "sets "+e.Short(f.Path, f.Value)+", the current value"
	switch {
	case f.Declared == ownership.Clears:
		return sizing{by: by, nextApply: "clears it; the default applies", declared: ownership.Clears}, true
	case f.DeclaredValue != nil:
		return sizing{by: by, nextApply: "sets " + e.Short(f.Path, f.DeclaredValue), declared: ownership.Sets}, true
	case f.Declared == ownership.Sets:
		return sizing{by: by, nextApply: same, declared: ownership.Sets}, true
	}
	for _, h := range f.Entries {
		switch {
		case !e.Subject.Context.Managers.IsApplier(h):
		case h.Operation == ownership.OperationApply:
			return sizing{by: h.Manager, nextApply: same, declared: ownership.Sets}, true
		case !h.Contains(ownership.LastAppliedPath()): // otherwise the annotation records the manifest, handled above
			may := "may set it: the manifest of " + h.Manager + " is not recorded"
			return sizing{by: h.Manager, nextApply: may, declared: ownership.Sets, unrecorded: true}, true
		}
	}
	return sizing{}, false
}

// unrecorded reports whether the autoscaler may have taken over the scale field from a client that records its manifest only in
// managedFields. Such a client then no longer has the field in its entry, even if its manifest still sets it. A scale field
// that no manager ever set has no /scale entry, because the API server does not create one.
func unrecorded(e explain.Explanation, f *ownership.Field) bool {
	if len(f.Entries) == 0 {
		return false
	}
	entries, err := e.Subject.Object.Entries()
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if e.Subject.Context.Managers.IsApplier(entry) && entry.Subresource == "" && !entry.Contains(ownership.LastAppliedPath()) {
			return true
		}
	}
	return false
}

func fieldAt(fields ownership.Fields, path fieldpath.Path) *ownership.Field {
	if path == nil {
		return nil
	}
	for i := range fields {
		if fields[i].Path.Equals(path) {
			return &fields[i]
		}
	}
	return nil
}

// riskOf returns a new risk for fields of an object.
func riskOf(kind Kind, e explain.Explanation, answer installation.Answer, fields []ownership.Field) Risk {
	r := Risk{Kind: kind, Object: explain.ObjectOf(e.Subject), Mode: answer.Mode, Why: answer.Why, name: e.Subject.String()}
	for i := range fields {
		f := &fields[i]
		r.Fields = append(r.Fields, fieldOf(e.FieldData(f)))
		r.Field, r.Since = explain.Text(f.Path), max(r.Since, f.Since)
	}
	return r
}
