package audit

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// answerOf returns how handoff reviews an object. It adds a gap if that is unknown, and a note if handoff does not act as its
// mode says.
func (a *auditor) answerOf(s source.Subject) installation.Answer {
	answer := a.installation.Mode(a.ctx, installation.ObjectOf(s.Kind, s.Namespace, s.Object))
	a.explain(answer)
	return answer
}

func (a *auditor) explain(answer installation.Answer) {
	to := &a.report.Notes
	if answer.Reason == installation.NotKnown {
		to = &a.report.Gaps
	}
	if answer.Reason == installation.NotKnown && a.installation.OfFiles() {
		return // the survey says which namespaces the files do not contain
	}
	if answer.Why != "" && !slices.Contains(*to, answer.Why) {
		*to = append(*to, answer.Why)
	}
}

// handoff returns how handoff responds to an apply; kept is the value that it would keep, or "".
func handoff(a installation.Answer, kept string) string {
	switch {
	case kept == "":
		return "does not keep it"
	case a.Mode == ownership.ModeEnforce:
		return "keeps " + kept
	case a.Reason != "":
		return string(a.Reason) + ": would keep " + kept
	default:
		return string(a.Mode) + ": would keep " + kept
	}
}

// enableRemedies returns what makes handoff keep the fields of an object.
func (a *auditor) enableRemedies(s source.Subject, answer installation.Answer) []string {
	enable := "kubectl handoff enable " + s.Namespace
	if _, own := s.Object.ModeLabel(); own {
		enable = fmt.Sprintf("kubectl label --overwrite %s -n %s %s=%s", s, s.Namespace, ownership.ModeLabel, ownership.ModeEnforce)
	}
	switch {
	case a.installation.Missing():
		return []string{"install handoff (docs/install.md), then " + enable}
	case answer.Reason == installation.Excluded:
		return nil
	case answer.Reason == "" || answer.Set == installation.Unknown:
		return []string{enable}
	default:
		return []string{"kubectl handoff doctor -n " + s.Namespace}
	}
}

// namespaces adds the modes of the audited namespaces: one, or all if it is empty. Those of files are complete at the end.
func (a *auditor) namespaces(one string) error {
	names := []string{one}
	if a.installation.OfFiles() {
		for name, mode := range a.survey.Namespaces {
			if mode != source.UnknownMode {
				a.installation.AddNamespace(name, mode)
			}
		}
		return nil
	}
	if one == "" {
		all, err := a.installation.Namespaces(a.ctx, "")
		if apierrors.IsForbidden(err) {
			a.report.Gaps = append(a.report.Gaps,
				"the mode of handoff in the namespaces is unknown; ask for permission to list namespaces")
			return nil
		}
		if err != nil {
			return source.Advise(err, "")
		}
		names = nil
		for i := range all {
			names = append(names, all[i].Name)
		}
	} else if _, err := a.installation.Namespace(a.ctx, one); err != nil && !apierrors.IsForbidden(err) {
		return source.Advise(err, "")
	}
	for _, name := range names {
		a.addNamespace(name)
	}
	return nil
}

func (a *auditor) addNamespace(name string) {
	answer := a.installation.Mode(a.ctx, installation.Object{Namespace: name})
	a.report.Namespaces[answer.Mode] = append(a.report.Namespaces[answer.Mode], name)
	a.explain(answer)
}
