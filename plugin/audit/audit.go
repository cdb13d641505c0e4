// Package audit finds what would go wrong at the next apply, over a stream of objects: sizes that a manifest takes from an
// autoscaler, fields that two managers fight over, autoscalers that fight each other or scale nothing. Whose a field is and
// what handoff would do, it asks ownership and merge. It keeps what it has found, and none of the objects.
package audit

import (
	"context"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Report is what an audit has found.
type Report struct {
	// Risks are in the order of their namespaces, objects and fields.
	Risks []Risk
	// Objects is how many objects were looked at, Kinds of which resources; the latter is empty for files.
	Objects int
	Kinds   []string
	// Namespaces are the names of the namespaces that were looked into, by mode, sorted.
	Namespaces map[ownership.Mode][]string
	// Unrecorded are the objects whose size an autoscaler has taken from a client that records no manifest: whether the
	// manifest still sets it, nothing in the cluster says.
	Unrecorded []explain.ObjectData
	// Gaps say what is not known, a sentence each.
	Gaps []string
}

// Progress is how far an audit has come.
type Progress struct {
	// Resource is the kind that is being read, Looked how many of it have been looked at, and Of how many there are: 0 where
	// the API server does not say.
	Resource   string
	Looked, Of int64
	// Risks is how many have been found, in all kinds.
	Risks int
}

// Run audits what a survey reads. It tells how far it is after each page.
func Run(ctx context.Context, survey *source.Survey, tell func(Progress)) (*Report, error) {
	a := auditor{survey: survey, report: &Report{Namespaces: map[ownership.Mode][]string{}}}
	var progress Progress
	err := survey.Each(ctx, func(page source.Page) error {
		if page.Resource != progress.Resource {
			progress = Progress{Resource: page.Resource}
			a.report.Kinds = append(a.report.Kinds, page.Resource)
		}
		for _, s := range page.Subjects {
			a.look(s)
		}
		progress.Looked += int64(len(page.Subjects))
		progress.Of, progress.Risks = 0, len(a.report.Risks)
		if page.Left >= 0 {
			progress.Of = progress.Looked + page.Left
		}
		tell(progress)
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	a.targets()
	a.finish()
	return a.report, nil
}

type auditor struct {
	survey *source.Survey
	report *Report
	// stripped lack managedFields, unreadable have records that cannot be read.
	stripped, unreadable tally
}

// look looks at one object.
func (a *auditor) look(s source.Subject) {
	a.report.Objects++
	a.report.Gaps = append(a.report.Gaps, s.Gaps...)
	entries, err := s.Object.Entries()
	stripped := err == nil && len(entries) == 0
	if stripped {
		a.stripped.add(titleOf(s))
	}
	explained, err := explain.Of(s)
	switch {
	case err != nil && !stripped:
		a.unreadable.addWith(titleOf(s), err.Error())
	case err == nil:
		a.replicas(explained)
		a.contested(explained)
	}
	a.several(explained)
}

func (a *auditor) finish() {
	r := a.report
	slices.SortStableFunc(r.Risks, compare)
	slices.Sort(r.Kinds)
	for name, mode := range a.survey.Namespaces {
		r.Namespaces[mode] = append(r.Namespaces[mode], name)
	}
	for _, names := range r.Namespaces {
		slices.Sort(names)
	}
	r.Gaps = append(r.Gaps, a.survey.Gaps()...)
	if a.stripped.count > 0 {
		r.Gaps = append(r.Gaps, a.stripped.are("it has", "they have")+
			" no managedFields, so that who writes the fields is not known; save objects with kubectl get -o yaml --show-managed-fields")
	}
	if a.unreadable.count > 0 {
		r.Gaps = append(r.Gaps, a.unreadable.first+a.unreadable.others())
	}
}

func titleOf(s source.Subject) string {
	title := s.String()
	if s.Namespace != "" {
		title += " -n " + s.Namespace
	}
	return strings.Clone(title)
}
