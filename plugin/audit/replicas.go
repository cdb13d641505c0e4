package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// replicas adds a risk if a manifest sets the scale field that an autoscaler owns. It is a risk even if both values are equal,
// or the autoscaler's bounds allow only one value: the next change of either makes them differ.
func (a *auditor) replicas(e explain.Explanation) {
	s := e.Subject
	at := slices.IndexFunc(e.Fields, func(f ownership.Field) bool { return s.Context.IsScale(f.Path) && f.Value != nil })
	if at < 0 {
		return
	}
	f := &e.Fields[at]
	applier, next, isRecorded := nextOf(e, f)
	r := risk(Replicas, e, f)
	switch {
	case f.Owner.Kind != ownership.Autoscaler:
		if scalesToOne(s, f) {
			a.report.ToOne = append(a.report.ToOne, s.Title())
		}
		return
	case applier == "" && !isUnrecorded(s, f):
		return
	}
	a.respond(&r, s)
	if applier == "" {
		a.report.Unrecorded = append(a.report.Unrecorded, s.Title())
		if r.Mode != optin.Enforce {
			a.report.Possible = append(a.report.Possible, fmt.Sprintf("%s: unknown whether its manifest sets %s, and the next apply "+
				"resets it: no record of the manifest is in the object", s.Title(), r.Field))
		}
		return
	}
	r.NextApply, r.Managers = next, []string{f.Owner.By, applier}
	if isRecorded {
		r.Remedies = append(r.Remedies, fmt.Sprintf("kubectl handoff release %s '%s'%s", s, r.Field, s.In()))
	}
	r.Remedies = append(r.Remedies, "remove "+r.Field+" from the manifest, or apply again after deleting the autoscaler")
	a.report.Risks = append(a.report.Risks, r)
}

// respond sets how handoff responds to an apply that sets the scale field of an autoscaler, which it keeps, and what makes it act on the
// object: nothing if it does, or cannot. Why it does not act as its mode says is a note, and a gap if its mode is unknown.
func (a *auditor) respond(r *Risk, s source.Subject) {
	answer := a.installation.Effect(a.ctx, installation.ObjectOf(s.Kind, s.Namespace, s.Object))
	to := &a.report.Notes
	if answer.Reason == installation.NotKnown {
		to = &a.report.Gaps
	}
	if answer.Why != "" && !slices.Contains(*to, answer.Why) {
		*to = append(*to, answer.Why)
	}
	r.Mode, r.Why, r.Handoff = answer.Mode, answer.Why, "keeps "+r.Now
	if answer.Mode == optin.Enforce {
		return
	}
	r.Handoff = cmp.Or(string(answer.Reason), string(answer.Mode)) + ": would keep " + r.Now
	enable := "kubectl handoff enable " + s.Namespace
	if _, own := s.Object.ModeLabel(); own || s.Namespace == "" {
		enable = fmt.Sprintf("kubectl label --overwrite %s %s=%s", s.Title(), optin.Label, optin.Enforce)
	}
	switch {
	case answer.Reason == installation.Excluded, s.Namespace == "" && !a.installation.Selectable(s.Kind):
	case a.installation.Missing():
		r.Remedies = []string{"install handoff (docs/install.md), then " + enable}
	case answer.Reason == "" || answer.Set == installation.Unknown:
		r.Remedies = []string{enable}
	default:
		r.Remedies = []string{"kubectl handoff doctor" + s.In()}
	}
}

// nextOf returns the applier whose manifest sets the scale field, and what its next apply does, according to the last-applied
// annotation, an Apply entry in managedFields, or the entry of a client that does not record its manifest. The applier is empty if
// no manifest sets the field.
func nextOf(e explain.Explanation, f *ownership.Field) (applier, next string, isRecorded bool) {
	applier, same := clientSideApplier(e), "sets "+e.Short(f.Path, f.Value)+", the current value"
	switch {
	case f.Declared == ownership.Clears:
		return applier, "clears it; the default applies", true
	case f.DeclaredValue != nil:
		return applier, "sets " + e.Short(f.Path, f.DeclaredValue), true
	case f.Declared == ownership.Sets:
		return applier, same, true
	}
	for _, h := range f.Entries {
		switch {
		case !e.Subject.Context.Managers.IsApplier(h):
		case h.Operation == managedfields.OperationApply:
			return h.Manager, same, true
		case !h.Contains(ownership.LastAppliedPath()): // otherwise the annotation records the manifest, handled above
			return h.Manager, "may set it: the manifest of " + h.Manager + " is not recorded", false
		}
	}
	return "", "", false
}

// clientSideApplier returns the client-side applier that wrote the last-applied annotation, "last-applied" if nothing shows it.
func clientSideApplier(e explain.Explanation) (name string) {
	entries, _ := e.Subject.Object.Entries() // which explain has read
	for _, entry := range managedfields.For(entries, ownership.LastAppliedPath()) {
		if entry.Operation == managedfields.OperationUpdate && e.Subject.Context.Managers.IsApplier(entry) {
			name = cmp.Or(name, entry.Manager)
		}
	}
	return cmp.Or(name, "last-applied")
}

// scalesToOne reports whether replicas above 1 become 1 when a manifest drops them or, in a server-side apply, sets them to null.
func scalesToOne(s source.Subject, f *ownership.Field) bool {
	replicas, err := strconv.ParseUint(string(f.Value), 10, 31)
	return err == nil && replicas > 1 && f.Declared == ownership.Lacks && slices.ContainsFunc(f.Entries, isUnrecordedApplier(s))
}

// isUnrecorded reports whether the autoscaler may have taken over the scale field from a client that records its manifest only in
// managedFields. Such a client then no longer has the field in its entry, even if its manifest still sets it. A scale field
// that no manager ever set has no /scale entry, because the API server does not create one.
func isUnrecorded(s source.Subject, f *ownership.Field) bool {
	entries, _ := s.Object.Entries() // which explain has read
	applier := isUnrecordedApplier(s)
	return len(f.Entries) > 0 && slices.ContainsFunc(entries, func(e ownership.Entry) bool { return e.Subresource == "" && applier(e) })
}

// isUnrecordedApplier returns a function that reports whether an entry is that of an applier without a last-applied annotation.
func isUnrecordedApplier(s source.Subject) func(ownership.Entry) bool {
	return func(e ownership.Entry) bool {
		return s.Context.Managers.IsApplier(e) && !e.Contains(ownership.LastAppliedPath())
	}
}
