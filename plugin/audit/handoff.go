package audit

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// ask returns how handoff reviews an object. It adds a gap if that is unknown, and a note if handoff does not act as its mode says.
func (a *auditor) ask(o installation.Object) installation.Answer {
	answer := a.installation.Effect(a.ctx, o)
	to := &a.report.Notes
	if answer.Reason == installation.NotKnown {
		to = &a.report.Gaps
	}
	reportedAtEnd := answer.Reason == installation.NotKnown && a.installation.OfFiles()
	if answer.Why != "" && !reportedAtEnd && !slices.Contains(*to, answer.Why) {
		*to = append(*to, answer.Why)
	}
	return answer
}

// respond sets how handoff responds to an apply; kept is the value that it would keep, or "".
func (r *Risk) respond(a installation.Answer, kept string) {
	r.Mode, r.Why = a.Mode, a.Why
	switch {
	case kept == "":
		r.Handoff = "does not keep it"
	case a.Mode == ownership.ModeEnforce:
		r.Handoff = "keeps " + kept
	case a.Reason != "":
		r.Handoff = string(a.Reason) + ": would keep " + kept
	default:
		r.Handoff = string(a.Mode) + ": would keep " + kept
	}
}

// enable returns what makes handoff act on an object, nil if it does, or cannot.
func (a *auditor) enable(s source.Subject, answer installation.Answer) []string {
	enable := "kubectl handoff enable " + s.Namespace
	if _, own := s.Object.ModeLabel(); own || s.Namespace == "" {
		enable = fmt.Sprintf("kubectl label --overwrite %s %s=%s", s.Title(), ownership.ModeLabel, ownership.ModeEnforce)
	}
	if s.Namespace == "" && !a.installation.Selectable(s.Kind) {
		return nil
	}
	switch {
	case answer.Mode == ownership.ModeEnforce, answer.Reason == installation.Excluded:
		return nil
	case a.installation.Missing():
		return []string{"install handoff (docs/install.md), then " + enable}
	case answer.Reason == "" || answer.Set == installation.Unknown:
		return []string{enable}
	default:
		return []string{"kubectl handoff doctor" + s.In()}
	}
}

// namespaces adds the modes of the audited namespaces: one, or all if it is empty. Those of files are known at the end.
func (a *auditor) namespaces(one string) error {
	switch {
	case a.installation.OfFiles():
		for name, mode := range a.survey.Namespaces {
			a.installation.AddNamespace(name, mode)
		}
		return nil
	case one != "":
		if _, err := a.installation.Namespace(a.ctx, one); err != nil && !apierrors.IsForbidden(err) {
			return source.Advise(err, "")
		}
		a.addNamespace(one)
		return nil
	}
	all, err := a.installation.Namespaces(a.ctx, "")
	if apierrors.IsForbidden(err) {
		a.report.Gaps = append(a.report.Gaps, "the mode of handoff in the namespaces is unknown; ask for permission to list namespaces")
		return nil
	}
	for i := range all {
		a.addNamespace(all[i].Name)
	}
	if err != nil {
		return source.Advise(err, "")
	}
	return nil
}

func (a *auditor) addNamespace(name string) {
	mode := a.ask(installation.Object{Namespace: name}).Mode
	a.report.Namespaces[mode] = append(a.report.Namespaces[mode], name)
}
