// Package audit finds objects that the next apply would break, in a stream of objects: replicas that a manifest resets, fields
// that two managers write, autoscalers that share a target or have none. Packages ownership and merge determine owners and
// decisions. The package keeps its findings, but not the objects.
package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Report is the result of an audit.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Objects is the number of audited objects. Resources are their resources, as "deployments.apps"; empty for files.
	Objects   int      `json:"objects"`
	Resources []string `json:"resources,omitempty"`
	// Namespaces are the sorted names of the audited namespaces, by mode: enforce, warn, off and unknown.
	Namespaces map[ownership.Mode][]string `json:"namespaces"`
	// Risks are sorted by namespace, object and field.
	Risks []Risk `json:"risks"`
	// Unrecorded are the objects that an autoscaler scaled after a client that does not record its manifest: nothing in the
	// cluster reports whether the manifest still sets the replicas.
	Unrecorded []explain.ObjectData `json:"unrecorded,omitempty"`
	// ToOne are the objects without an autoscaler that scale to 1 if their manifest drops the replicas (Helm 3) or sets them to
	// null (server-side apply): neither is recorded.
	ToOne []explain.ObjectData `json:"scalesToOne,omitempty"`
	// Undone are the objects that lack the annotation ownership.ControllerFieldsAnnotation of their manifest, as after kubectl
	// rollout undo.
	Undone []explain.ObjectData `json:"rulesUndone,omitempty"`
	// Changed are the fields of manifests in which a person wrote another value, which handoff does not keep: the next apply
	// overwrites it, and an apply that drops the field removes it.
	Changed []Changed `json:"changed,omitempty"`
	// Annotated are the objects with the mode annotation, which has no effect on them.
	Annotated []source.Annotated `json:"annotated,omitempty"`
	// Notes say why handoff does not act as its mode says.
	Notes []string `json:"notes,omitempty"`
	// Gaps describe what is unknown, one sentence each; a complete answer has none.
	Gaps []string `json:"gaps,omitempty"`
	// Possible are sentences about Unrecorded objects that handoff does not keep: each could be a risk.
	Possible []string `json:"-"`
}

// Run audits the objects that a survey reads in a namespace or, if it is empty, in all. It shows the progress after each object.
func Run(
	ctx context.Context, survey *source.Survey, in *installation.Installation, namespace string, progress func(line string),
) (*Report, error) {
	a := auditor{ctx: ctx, survey: survey, installation: in, report: &Report{
		APIVersion: explain.APIVersion, Kind: "Audit", Risks: []Risk{},
		Namespaces: map[ownership.Mode][]string{ownership.ModeEnforce: {}, ownership.ModeWarn: {}, ownership.ModeOff: {}},
	}}
	if err := a.namespaces(namespace); err != nil {
		return nil, err
	}
	resource, audited := "", int64(0)
	err := survey.Each(ctx, func(of string, s source.Subject, left int64) error {
		if of != resource {
			resource, audited = of, 0
		}
		a.audit(s)
		audited++
		number := strconv.FormatInt(audited, 10)
		if left >= 0 { // the API server returns it
			number = fmt.Sprintf("%d of %d", audited, audited+left)
		}
		progress(strings.TrimPrefix(fmt.Sprintf("%s: %s objects, risks so far: %d", resource, number, len(a.report.Risks)), ": "))
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
	// stripped are the names of objects without managedFields, unreadable the errors of those with records that cannot be parsed.
	stripped, unreadable []string
}

func (a *auditor) audit(s source.Subject) {
	a.report.Objects++
	a.report.Gaps = append(a.report.Gaps, s.Gaps...)
	if annotated, ok := source.AnnotatedOf(s); ok {
		a.report.Annotated = append(a.report.Annotated, annotated)
	}
	entries, err := s.Object.Entries()
	stripped := err == nil && len(entries) == 0
	if stripped {
		a.stripped = append(a.stripped, s.Title())
	}
	e, err := explain.Of(s)
	switch {
	case err != nil && !stripped:
		a.unreadable = append(a.unreadable, err.Error())
	case err == nil:
		a.replicas(e)
		if lostRules(s) {
			a.report.Undone = append(a.report.Undone, explain.ObjectOf(s))
		}
		a.contested(e)
		a.changed(e)
	}
	a.several(e)
}

func (a *auditor) finish() {
	r := a.report
	slices.SortStableFunc(r.Risks, func(a, b Risk) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.name, b.name),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Kind, b.Kind))
	})
	r.Resources = slices.Compact(slices.Sorted(slices.Values(a.survey.Resources)))
	if a.installation.OfFiles() {
		for name := range a.survey.Namespaces {
			a.addNamespace(name)
		}
	}
	for _, names := range r.Namespaces {
		slices.Sort(names)
	}
	r.Gaps = append(r.Gaps, a.survey.Gaps...)
	if unknown := r.Namespaces[installation.Unknown]; a.installation.OfFiles() && len(unknown) > 0 {
		r.Gaps = append(r.Gaps, "the mode of handoff in namespace "+printable.Some(unknown)+
			" is unknown; add the namespaces to the files: kubectl get namespaces -o yaml")
	}
	if len(a.stripped) > 0 {
		r.Gaps = append(r.Gaps, printable.Some(a.stripped)+
			": no managedFields, so the owners of fields are unknown; export objects with kubectl get -o yaml --show-managed-fields")
	}
	switch others := len(a.unreadable) - 1; {
	case others > 0:
		r.Gaps = append(r.Gaps, fmt.Sprintf("%s (and %s)", a.unreadable[0], counted(others, "other object")))
	case others == 0:
		r.Gaps = append(r.Gaps, a.unreadable[0])
	}
}

// Kind is a kind of risk.
type Kind string

// The kinds of risks.
const (
	// Replicas means that an autoscaler scales the object and a manifest still sets the scale field.
	Replicas Kind = "replicas"
	// Contested means that several managers write the same fields.
	Contested Kind = "contested"
	// NoTarget means that a HorizontalPodAutoscaler or another scaler scales nothing.
	NoTarget Kind = "no-target"
	// TwoAutoscalers means that two or more HorizontalPodAutoscalers target the object.
	TwoAutoscalers Kind = "two-autoscalers"
)

// Risk is a risk of one object. It does not refer to the object, which is not kept.
type Risk struct {
	Kind   Kind               `json:"risk"`
	Object explain.ObjectData `json:"object"`
	// Field is the path of the field, or of the common parent of all Fields.
	Field  string  `json:"field"`
	Fields []Field `json:"fields,omitempty"`
	// Now describes the field's current value, NextApply what an apply would do.
	Now       string `json:"now"`
	NextApply string `json:"nextApply"`
	// Mode is the mode in which handoff reviews the object, Why the reason if that is not the mode that was set, and Handoff how
	// handoff responds. They are empty if the risk does not depend on an apply.
	Mode    ownership.Mode `json:"mode,omitempty"`
	Why     string         `json:"why,omitempty"`
	Handoff string         `json:"handoff,omitempty"`
	// Managers are the managers involved, the owner first.
	Managers []string `json:"managers,omitempty"`
	Since    string   `json:"since,omitempty"`
	// Remedies are in order, the quickest first. Those that begin with kubectl are commands.
	Remedies []string `json:"remedies"`

	name string
}

// Field is a field at risk.
type Field struct {
	Path string `json:"path"`
	// Value and ManifestValue are left out if they are long, and for Secrets.
	Value         json.RawMessage `json:"value,omitempty"`
	ManifestValue json.RawMessage `json:"manifestValue,omitempty"`
}

func newRisk(kind Kind, s source.Subject) Risk {
	return Risk{Kind: kind, Object: explain.ObjectOf(s), name: s.String()}
}

func (r *Risk) addFields(e explain.Explanation, fields ...ownership.Field) {
	for i := range fields {
		data := e.FieldData(&fields[i])
		r.Fields = append(r.Fields, Field{data.Path, kept(data.Value), kept(data.ManifestValue)})
		r.Since = max(r.Since, fields[i].Since)
	}
}

// maxValueLen limits the length of a value that a risk keeps.
const maxValueLen = 256

// kept returns a copy of a value, so that the page can be garbage-collected.
func kept(value json.RawMessage) json.RawMessage {
	if len(value) > maxValueLen {
		return nil
	}
	return bytes.Clone(value)
}
