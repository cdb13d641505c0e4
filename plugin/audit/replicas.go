package audit

import (
	"cmp"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// sizing is what is recorded of somebody who speaks for a manifest that sets the size of an object.
type sizing struct {
	by        string
	nextApply string
	claim     ownership.Claim
	// unrecorded says that the manifest itself is recorded nowhere.
	unrecorded bool
}

// replicas looks for a manifest that sets what an autoscaler sizes. That the two agree at the moment, or that the autoscaler
// has no choice, is no reason to leave it: the next change of either makes them differ.
func (a *auditor) replicas(e explain.Explanation) {
	f := fieldAt(e.Fields, e.Context.Scale)
	if f == nil || f.Owner != ownership.Autoscaler || f.Value == nil {
		return
	}
	found, ok := sizingOf(e, f)
	if !ok {
		if unrecorded(e, f) {
			a.report.Unrecorded = append(a.report.Unrecorded, explain.ObjectOf(e.Subject))
		}
		return
	}
	now := e.Short(f.Path, f.Value)
	kept := ""
	if e.Keeps(f, found.claim, found.claim) {
		kept = now
	}
	r := a.riskOf(Replicas, e, []ownership.Field{*f})
	r.Now, r.NextApply, r.Handoff = now, found.nextApply, handoff(r.Mode, kept)
	r.Managers = []string{f.By, found.by}
	if r.Mode != ownership.ModeEnforce && kept != "" {
		r.Remedies = append(r.Remedies, enabling(e.Subject))
	}
	if !found.unrecorded {
		r.Remedies = append(r.Remedies, releasing(e, r.Field))
	}
	r.Remedies = append(r.Remedies, "take "+r.Field+" out of the manifest")
	a.add(r)
}

// sizingOf returns the manifest that sets the size, as far as that is recorded: in the last-applied annotation, in an Apply
// entry, or as a claim of a client that records no manifest.
func sizingOf(e explain.Explanation, f *ownership.Field) (sizing, bool) {
	by, same := cmp.Or(annotator(e), "last-applied"), "sets "+e.Short(f.Path, f.Value)+", as it is now"
	switch {
	case f.Declared == ownership.Clears:
		return sizing{by: by, nextApply: "clears it: back to the default", claim: ownership.Clears}, true
	case f.DeclaredValue != nil:
		return sizing{by: by, nextApply: "sets " + e.Short(f.Path, f.DeclaredValue), claim: ownership.Sets}, true
	case f.Declared == ownership.Sets:
		return sizing{by: by, nextApply: same, claim: ownership.Sets}, true
	}
	for _, h := range f.Holders {
		switch {
		case !e.Context.Managers.IsApplier(h):
		case h.Operation == ownership.OperationApply:
			return sizing{by: h.Manager, nextApply: same, claim: ownership.Sets}, true
		case !h.Holds(ownership.LastAppliedPath()): // what that one's manifest says, the annotation has told
			may := "may set it: the manifest of " + h.Manager + " is not recorded"
			return sizing{by: h.Manager, nextApply: may, claim: ownership.Sets, unrecorded: true}, true
		}
	}
	return sizing{}, false
}

// unrecorded says whether an autoscaler has taken the size from somebody, of whom it may have been a client that records no
// manifest but its claims. Such a client has none left then, whatever its manifest goes on saying. A size that nobody has
// ever claimed has no entry of /scale: the API server does not make one.
func unrecorded(e explain.Explanation, f *ownership.Field) bool {
	if len(f.Holders) == 0 {
		return false
	}
	entries, err := e.Object.Entries()
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if e.Context.Managers.IsApplier(entry) && entry.Subresource == "" && !entry.Holds(ownership.LastAppliedPath()) {
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

// riskOf begins a risk of fields of an object.
func (a *auditor) riskOf(kind Kind, e explain.Explanation, fields []ownership.Field) Risk {
	r := Risk{Kind: kind, Object: explain.ObjectOf(e.Subject), Mode: a.modeOf(e.Subject), name: e.String()}
	for i := range fields {
		f := &fields[i]
		r.Fields = append(r.Fields, fieldOf(e.FieldData(f)))
		r.Field, r.Since = explain.Text(f.Path), max(r.Since, f.Since)
	}
	return r
}
