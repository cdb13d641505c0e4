// Package audit finds objects that the next apply would break, in a stream of objects: replicas that a manifest resets, and
// autoscalers that share a target or have none. Packages ownership and merge determine owners and decisions. The package keeps its
// findings, but not the objects.
package audit

import (
	"cmp"
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Report is the result of an audit.
type Report struct {
	// Objects is the number of audited objects. Resources are their resources, as "deployments.apps"; empty for files.
	Objects   int      `json:"objects"`
	Resources []string `json:"resources,omitempty"`
	// Risks are sorted by namespace, object and field.
	Risks []Risk `json:"risks"`
	// Notes are sorted by kind.
	Notes []Note `json:"notes,omitempty"`
	// Gaps describe what is unknown, one sentence each; a complete answer has none.
	Gaps []string `json:"gaps,omitempty"`
}

// Kind is a kind of risk or note.
type Kind string

// The kinds of risks.
const (
	// Replicas means that an autoscaler scales the object and a manifest still sets the scale field.
	Replicas Kind = "replicas"
	// NoTarget means that a HorizontalPodAutoscaler or another scaler scales nothing.
	NoTarget Kind = "no-target"
	// TwoAutoscalers means that two or more HorizontalPodAutoscalers target the object.
	TwoAutoscalers Kind = "two-autoscalers"
)

// Risk is a risk of one object. It does not refer to the object, which is not kept.
type Risk struct {
	Kind   Kind            `json:"risk"`
	Object source.Identity `json:"object"`
	Field  string          `json:"field"`
	// Now describes the field's current value, NextApply what an apply would do.
	Now       string `json:"now"`
	NextApply string `json:"nextApply"`
	// Mode is the mode in which handoff reviews the object, Why the reason if that is not the mode that was set, and Handoff how
	// handoff responds. They are empty if the risk does not depend on an apply.
	Mode    optin.Mode `json:"mode,omitempty"`
	Why     string     `json:"why,omitempty"`
	Handoff string     `json:"handoff,omitempty"`
	// Managers are the managers involved, the owner first.
	Managers []string `json:"managers,omitempty"`
	Since    string   `json:"since,omitempty"`
	// Remedies are in order, the quickest first. Those that begin with kubectl are commands.
	Remedies []string `json:"remedies,omitempty"`
}

// risk returns a risk of a field, without what the next apply does.
func risk(kind Kind, e explain.Explanation, f *ownership.OwnedField) Risk {
	return Risk{
		Kind: kind, Object: e.Subject.Identity, Field: explain.Text(f.Path), Now: e.Short(f.Path, f.Value), Since: f.Since,
	}
}

// Run audits the objects that a survey reads.
func Run(ctx context.Context, survey *source.Survey, in *installation.Installation) (*Report, error) {
	a := auditor{ctx: ctx, survey: survey, installation: in, report: &Report{Risks: []Risk{}}}
	for _, o := range survey.Namespaces { // of files
		in.AddNamespace(o)
	}
	var err error
	if survey.Namespace != "" {
		_, err = in.Namespace(ctx, survey.Namespace)
	} else {
		_, _ = in.Namespaces(ctx, "") // all at once; what cannot be read matters only in a namespace with a risk
	}
	if !apierrors.IsNotFound(err) {
		err = survey.Each(ctx, func(s source.Subject) error {
			a.audit(s)
			return ctx.Err()
		})
	}
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
	// stripped are the names of objects without managedFields.
	stripped []string
}

func (a *auditor) audit(s source.Subject) {
	r := a.report
	r.Objects++
	if _, annotated := s.Object.Annotation(optin.Annotation).String(); annotated && s.Namespace != "" {
		r.Notes = append(r.Notes, noteOf(Annotated, s))
	}
	entries, err := s.Object.Entries()
	isStripped := err == nil && len(entries) == 0
	if isStripped {
		a.stripped = append(a.stripped, s.Title())
	}
	e, err := explain.Of(s)
	switch {
	case err != nil && !isStripped:
		r.Gaps = append(r.Gaps, err.Error())
	case err == nil:
		a.replicas(e)
		a.changed(e)
		_, has := s.Object.Annotation(ownership.ControllerFieldsAnnotation).String()
		if !has && e.Record.LastApplied.At("metadata", "annotations", ownership.ControllerFieldsAnnotation) != nil {
			r.Notes = append(r.Notes, noteOf(RulesUndone, s))
		}
	}
	a.several(e)
}

// changed notes the fields that another manager wrote since the last-applied manifest set them, but not those that handoff keeps
// once the manifest drops them (the table of units in docs/decisions.md), nor scale fields.
func (a *auditor) changed(e explain.Explanation) {
	for i := range e.Fields {
		f := &e.Fields[i]
		if f.Value == nil || f.DeclaredValue == nil || f.Owner.Kind.Decided() != ownership.Imperative || len(f.Entries) == 0 ||
			e.Subject.Context.IsScale(f.Path) || e.Keeps(f, ownership.Lacks, ownership.Sets) {
			continue
		}
		note := noteOf(Changed, e.Subject)
		note.Field, note.Manager = explain.Text(f.Path), f.Entries[0].Manager
		a.report.Notes = append(a.report.Notes, note)
	}
}

func (a *auditor) finish() {
	r := a.report
	slices.SortStableFunc(r.Risks, func(a, b Risk) int {
		byName := cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.String(), b.Object.String()))
		return cmp.Or(byName, cmp.Compare(a.Kind, b.Kind))
	})
	slices.SortStableFunc(r.Notes, func(a, b Note) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text)) })
	r.Notes = slices.Compact(r.Notes)
	r.Resources = slices.Compact(slices.Sorted(slices.Values(a.survey.Resources)))
	r.Gaps = append(r.Gaps, a.survey.Gaps...)
	if len(a.stripped) > 0 {
		r.Gaps = append(r.Gaps, printable.Some(a.stripped)+
			": no managedFields, so the owners of fields are unknown; export objects with kubectl get -o yaml --show-managed-fields")
	}
}
