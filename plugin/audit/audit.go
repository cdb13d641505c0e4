// Package audit finds objects that the next apply would break, in a stream of objects: replicas that a manifest resets, fields
// that two managers write, autoscalers that share a target or have none. Packages ownership and merge determine owners and
// decisions. The package keeps its findings, but not the objects.
package audit

import (
	"context"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Report is the result of an audit.
type Report struct {
	// Risks are sorted by namespace, object and field.
	Risks []Risk
	// Objects is the number of audited objects. Resources are their resources, as "deployments.apps"; empty for files.
	Objects   int
	Resources []string
	// Namespaces are the sorted names of the audited namespaces, by mode.
	Namespaces map[ownership.Mode][]string
	// Unrecorded are the objects that an autoscaler scaled after a client that does not record its manifest: nothing in the
	// cluster reports whether the manifest still sets the replicas.
	Unrecorded []explain.ObjectData
	// ToOne are the objects without an autoscaler that scale to 1 if their manifest drops the replicas (Helm 3) or sets them to
	// null (server-side apply): neither is recorded.
	ToOne []explain.ObjectData
	// Undone are the objects that lack the annotation ownership.ControllerFieldsAnnotation of their manifest, as after kubectl
	// rollout undo.
	Undone []explain.ObjectData
	// Annotated are the objects with the mode annotation, which has no effect on them.
	Annotated []source.Annotated
	// Notes say why handoff does not act as its mode says.
	Notes []string
	// Possible are sentences about Unrecorded objects that handoff does not keep: each could be a risk.
	Possible []string
	// Gaps describe what is unknown, one sentence each.
	Gaps []string
}

// Progress is the progress of an audit.
type Progress struct {
	// Resource is the resource that is being read. Looked is the number of its objects audited so far, Of the total, or 0 if
	// the API server does not return it.
	Resource   string
	Looked, Of int64
	// Risks is the number of risks found so far, in all kinds.
	Risks int
}

// Options are what an audit needs beside the objects.
type Options struct {
	Installation *installation.Installation
	// Namespace is the audited namespace, "" for all.
	Namespace string
	Progress  func(Progress)
}

// Run audits the objects that a survey reads, and calls report after each page.
func Run(ctx context.Context, survey *source.Survey, o Options) (*Report, error) {
	a := auditor{
		ctx: ctx, survey: survey, installation: o.Installation, report: &Report{Namespaces: map[ownership.Mode][]string{}},
	}
	if err := a.namespaces(o.Namespace); err != nil {
		return nil, err
	}
	var progress Progress
	err := survey.Each(ctx, func(page source.Page) error {
		if page.Resource != progress.Resource {
			progress = Progress{Resource: page.Resource}
			a.report.Resources = append(a.report.Resources, page.Resource)
		}
		for _, s := range page.Subjects {
			a.audit(s)
		}
		progress.Looked += int64(len(page.Subjects))
		progress.Of, progress.Risks = 0, len(a.report.Risks)
		if page.Left >= 0 {
			progress.Of = progress.Looked + page.Left
		}
		o.Progress(progress)
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
	ctx          context.Context //nolint:containedctx // of one run
	survey       *source.Survey
	installation *installation.Installation
	report       *Report
	// stripped counts objects without managedFields, unreadable those with records that cannot be parsed.
	stripped, unreadable tally
}

// audit audits one object.
func (a *auditor) audit(s source.Subject) {
	a.report.Objects++
	a.report.Gaps = append(a.report.Gaps, s.Gaps...)
	if annotated, ok := source.AnnotatedOf(s); ok {
		a.report.Annotated = append(a.report.Annotated, annotated)
	}
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
		if lostRules(s) {
			a.report.Undone = append(a.report.Undone, explain.ObjectOf(s))
		}
		a.addContested(explained)
	}
	a.several(explained)
}

func (a *auditor) finish() {
	r := a.report
	slices.SortStableFunc(r.Risks, compare)
	slices.Sort(r.Resources)
	for name := range a.survey.Namespaces { // of files
		a.addNamespace(name)
	}
	for _, names := range r.Namespaces {
		slices.Sort(names)
	}
	r.Gaps = append(r.Gaps, a.survey.Gaps()...)
	if a.stripped.count > 0 {
		r.Gaps = append(r.Gaps, a.stripped.some()+
			": no managedFields, so the owners of fields are unknown; export objects with kubectl get -o yaml --show-managed-fields")
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
