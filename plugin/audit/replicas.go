package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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
	at := slices.IndexFunc(e.Fields, func(f ownership.OwnedField) bool { return s.Context.IsScale(f.Path) && f.Value != nil })
	if at < 0 {
		return
	}
	f := &e.Fields[at]
	applier, recorded := e.Declarer(f)
	if f.Owner.Kind != ownership.Autoscaler {
		replicas, err := ownership.Replicas(f.Value)
		if err == nil && replicas > 1 && f.Declared == ownership.Lacks && applier != "" {
			a.report.Notes = append(a.report.Notes, noteOf(ScalesToOne, s))
		}
		return
	}
	// A scale field that no manager ever set has no /scale entry, because the API server does not create one.
	if applier == "" && (len(f.Entries) == 0 || !e.MayBeLost(f)) {
		return
	}
	r := risk(Replicas, e, f)
	a.respond(&r, s)
	if applier == "" {
		note := noteOf(Unrecorded, s)
		note.Field, note.Mode = r.Field, r.Mode
		a.report.Notes = append(a.report.Notes, note)
		return
	}
	r.NextApply, r.Managers = nextOf(e, f, applier, recorded), []string{f.Owner.By, applier}
	switch _, elsewhere, isElsewhere := strings.Cut(e.Record.Elsewhere, "; "); {
	case recorded && isElsewhere:
		r.Remedies = append(r.Remedies, elsewhere)
	case recorded:
		r.Remedies = append(r.Remedies, fmt.Sprintf("kubectl handoff release %s '%s'%s", s, r.Field, s.In()))
	}
	r.Remedies = append(r.Remedies, "remove "+r.Field+" from the manifest, or apply again after deleting the autoscaler")
	a.report.Risks = append(a.report.Risks, r)
}

// respond sets how handoff responds to an apply that sets the scale field of an autoscaler, which it keeps, and what makes it act on the
// object: nothing if it does, or cannot. Why it does not act as its mode says is a note, and a gap if its mode is unknown.
func (a *auditor) respond(r *Risk, s source.Subject) {
	answer := a.installation.Effect(a.ctx, installation.ObjectOf(s.Kind, s.Namespace, s.Object))
	switch {
	case answer.Why == "" || slices.Contains(a.report.Gaps, answer.Why):
	case answer.Reason == installation.NotKnown:
		a.report.Gaps = append(a.report.Gaps, answer.Why)
	default:
		a.report.Notes = append(a.report.Notes, Note{Kind: NotAsSet, Text: answer.Why})
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

// nextOf describes what the next apply of the manifest that sets the scale field does.
func nextOf(e explain.Explanation, f *ownership.OwnedField, applier string, recorded bool) string {
	switch {
	case f.Declared == ownership.Clears:
		return "clears it; the default applies"
	case f.DeclaredValue != nil:
		return "sets " + e.Short(f.Path, f.DeclaredValue)
	case recorded:
		return "sets " + e.Short(f.Path, f.Value) + ", the current value"
	default:
		return "may set it: the manifest of " + applier + " is not recorded"
	}
}
