package audit

import (
	"cmp"
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
	if answer.Why != "" && !slices.Contains(*to, answer.Why) {
		*to = append(*to, answer.Why)
	}
	return answer
}

// respond sets how handoff responds to an apply that sets the scale field of an autoscaler, which it keeps, and what makes it act on the
// object: nothing if it does, or cannot.
func (a *auditor) respond(r *Risk, s source.Subject) {
	answer := a.ask(installation.ObjectOf(s.Kind, s.Namespace, s.Object))
	r.Mode, r.Why, r.Handoff = answer.Mode, answer.Why, "keeps "+r.Now
	if answer.Mode == ownership.ModeEnforce {
		return
	}
	r.Handoff = cmp.Or(string(answer.Reason), string(answer.Mode)) + ": would keep " + r.Now
	enable := "kubectl handoff enable " + s.Namespace
	if _, own := s.Object.ModeLabel(); own || s.Namespace == "" {
		enable = fmt.Sprintf("kubectl label --overwrite %s %s=%s", s.Title(), ownership.ModeLabel, ownership.ModeEnforce)
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

// namespaces adds the modes of the audited namespaces: one, or all if it is empty. Those of files are known at the end.
func (a *auditor) namespaces(one string) error {
	if a.installation.OfFiles() {
		for name, mode := range a.survey.Namespaces {
			a.installation.AddNamespace(name, mode)
		}
		return nil
	}
	if one != "" {
		if _, err := a.installation.Namespace(a.ctx, one); err != nil && !apierrors.IsForbidden(err) {
			return err
		}
		a.addNamespace(one)
		return nil
	}
	all, err := a.installation.Namespaces(a.ctx, "")
	switch {
	case apierrors.IsForbidden(err):
		a.report.Gaps = append(a.report.Gaps, "the mode of handoff in the namespaces is unknown; ask for permission to list namespaces")
	case err != nil:
		return err
	default:
		for i := range all {
			a.addNamespace(all[i].Name)
		}
	}
	return nil
}

func (a *auditor) addNamespace(name string) {
	mode := a.ask(installation.Object{Namespace: name}).Mode
	a.report.Namespaces[mode] = append(a.report.Namespaces[mode], name)
}
