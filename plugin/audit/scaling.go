package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ownership-handoff/handoff/internal/scale"
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
	if f.Owner.Kind != ownership.Autoscaler {
		if scalesToOne(s, f) {
			a.report.ToOne = append(a.report.ToOne, explain.ObjectOf(s))
		}
		return
	}
	applier, next, isRecorded := sizingOf(e, f)
	path := explain.Text(f.Path)
	if applier == "" && !isUnrecorded(s, f) {
		return
	}
	answer := a.ask(installation.ObjectOf(s.Kind, s.Namespace, s.Object))
	if applier == "" {
		a.report.Unrecorded = append(a.report.Unrecorded, explain.ObjectOf(s))
		if answer.Mode != ownership.ModeEnforce {
			a.report.Possible = append(a.report.Possible, fmt.Sprintf("%s: unknown whether its manifest sets %s, and the next apply "+
				"resets it: no record of the manifest is in the object", s.Title(), path))
		}
		return
	}
	r := newRisk(Replicas, s)
	r.addFields(e, *f)
	r.Field, r.Now, r.NextApply, r.Managers = path, e.Short(f.Path, f.Value), next, []string{f.Owner.By, applier}
	declared := ownership.Sets
	if f.Declared == ownership.Clears {
		declared = ownership.Clears
	}
	if e.Keeps(f, declared, declared) {
		r.respond(answer, r.Now)
		r.Remedies = a.enable(s, answer)
	} else {
		r.respond(answer, "")
	}
	if isRecorded {
		r.Remedies = append(r.Remedies, releaseCommand(s, path))
	}
	r.Remedies = append(r.Remedies, "remove "+path+" from the manifest, or apply again after deleting the autoscaler")
	a.report.Risks = append(a.report.Risks, r)
}

// releaseCommand returns the command that stops managing a field through the manifest.
func releaseCommand(s source.Subject, field string) string {
	return fmt.Sprintf("kubectl handoff release %s '%s'%s", s, field, s.In())
}

// sizingOf returns the applier whose manifest sets the scale field, and what its next apply does, according to the last-applied
// annotation, an Apply entry in managedFields, or the entry of a client that does not record its manifest. The applier is empty if
// no manifest sets the field.
func sizingOf(e explain.Explanation, f *ownership.Field) (applier, next string, isRecorded bool) {
	applier, same := cmp.Or(clientSideApplier(e), "last-applied"), "sets "+e.Short(f.Path, f.Value)+", the current value"
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
		case h.Operation == ownership.OperationApply:
			return h.Manager, same, true
		case !h.Contains(ownership.LastAppliedPath()): // otherwise the annotation records the manifest, handled above
			return h.Manager, "may set it: the manifest of " + h.Manager + " is not recorded", false
		}
	}
	return "", "", false
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

// lostRules reports whether an object lacks the annotation with fields of controllers that its last-applied configuration has.
func lostRules(s source.Subject) bool {
	if _, has := s.Object.ControllerFields(); has {
		return false
	}
	manifest, _ := s.Object.LastApplied()
	applied, err := ownership.ParseObject([]byte(manifest))
	if err != nil {
		return false
	}
	_, declared := applied.ControllerFields()
	return declared
}

// several adds a risk if several autoscalers target an object.
func (a *auditor) several(e explain.Explanation) {
	path, rivals := e.Subject.Context.Scale, a.survey.Rivals(e.Subject)
	if len(rivals) < 2 || path == nil {
		return
	}
	r := newRisk(TwoAutoscalers, e.Subject)
	r.Field, r.Now = explain.Text(path), e.Short(path, e.Subject.Object.Value(path))
	var bounds []string
	for i, rival := range rivals {
		name := rival.Kind.Kind + "/" + rival.Name
		r.Managers, r.Since = append(r.Managers, name), max(r.Since, rival.Ambiguous)
		if rival.Max > 0 { // of a HorizontalPodAutoscaler
			name = fmt.Sprintf("%s %d to %d", rival.Name, rival.Min, rival.Max)
		}
		bounds = append(bounds, name)
		if i > 0 {
			r.Remedies = append(r.Remedies, deletion(rival))
		}
	}
	r.NextApply = "each autoscaler scales it: " + strings.Join(bounds, ", ")
	if r.Since != "" {
		r.NextApply = "no autoscaler scales by metrics: " + strings.Join(bounds, ", ")
	}
	a.report.Risks = append(a.report.Risks, r)
}

func deletion(of source.Autoscaler) string {
	return fmt.Sprintf("kubectl delete %s -n %s", of, of.Namespace)
}

// targets adds risks for autoscalers that scale nothing, but not for those that another one has created, which has the risk.
func (a *auditor) targets() {
	audited := map[string]bool{}
	for _, scaler := range a.survey.Autoscalers {
		audited[scaler.Namespace+"/"+scaler.String()] = scaler.Chosen
	}
	for _, scaler := range a.survey.Autoscalers {
		if scaler.Chosen && !audited[scaler.Namespace+"/"+scaler.Creator()] {
			a.target(scaler)
		}
	}
}

// target adds a risk if an autoscaler scales nothing.
func (a *auditor) target(scaler source.Autoscaler) {
	r := Risk{
		Kind: NoTarget, name: scaler.String(), Field: scaler.Path, Now: "no " + scaler.TargetText(), Since: scaler.Since,
		Object: explain.ObjectData{
			APIVersion: scaler.Kind.GroupVersion().String(), Kind: scaler.Kind.Kind, Namespace: scaler.Namespace, Name: scaler.Name,
		},
	}
	remedy := "set its " + scaler.Path[strings.LastIndex(scaler.Path, ".")+1:] + " to "
	switch scaler.Presence {
	case source.Missing:
		r.NextApply = "is scaled once it exists"
		if scaler.Min > 0 {
			r.NextApply = fmt.Sprintf("is scaled to at least %d once it exists", scaler.Min)
		}
		remedy = "apply " + scaler.TargetText()
	case source.NotScalable:
		r.NextApply = "nothing: no such kind with a scale subresource"
		remedy += "a kind with a scale subresource"
	case source.NotReferenced:
		r.Now, r.NextApply = scaler.Problem, "nothing: no valid reference"
		remedy += "a workload"
	default:
		return
	}
	if r.Remedies = []string{remedy}; !scale.OwnsPods(scaler.Kind.GroupKind()) {
		r.Remedies = []string{deletion(scaler), "or " + remedy}
	}
	a.report.Risks = append(a.report.Risks, r)
}
