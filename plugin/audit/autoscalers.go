package audit

import (
	"fmt"
	"strings"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// several adds a risk if several autoscalers target an object.
func (a *auditor) several(e explain.Explanation) {
	path, rivals := e.Subject.Context.Scale, a.survey.Rivals(e.Subject)
	if len(rivals) < 2 || path == nil {
		return
	}
	r := risk(TwoAutoscalers, e, &ownership.OwnedField{Path: path, Value: e.Subject.Object.Value(path)})
	var bounds []string
	for i, rival := range rivals {
		name := rival.Reference.Scaler
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

func deletion(of *source.Autoscaler) string { return "kubectl delete " + of.Title() }

// targets adds risks for autoscalers that scale nothing, but not for those that another one has created, which has the risk.
func (a *auditor) targets() {
	audited := map[string]bool{}
	for _, scaler := range a.survey.Autoscalers {
		audited[scaler.Namespace+"/"+scaler.Reference.Scaler] = scaler.Chosen
	}
	for _, scaler := range a.survey.Autoscalers {
		if scaler.Chosen && !audited[scaler.Namespace+"/"+scaler.Reference.ControlledBy] {
			a.target(scaler)
		}
	}
}

// target adds a risk if an autoscaler scales nothing.
func (a *auditor) target(scaler *source.Autoscaler) {
	r := Risk{
		Kind: NoTarget, Object: scaler.Identity, Field: scaler.Path, Now: "no " + scaler.Target().String(), Since: scaler.Since,
	}
	remedy := "set its " + scaler.Path[strings.LastIndex(scaler.Path, ".")+1:] + " to "
	switch {
	case scaler.Missing:
		r.NextApply = "is scaled once it exists"
		if scaler.Min > 0 {
			r.NextApply = fmt.Sprintf("is scaled to at least %d once it exists", scaler.Min)
		}
		remedy = "apply " + scaler.Target().String()
	case scaler.NotScalable:
		r.NextApply = "nothing: no such kind with a scale subresource"
		remedy += "a kind with a scale subresource"
	case scaler.Problem != "":
		r.Now, r.NextApply = scaler.Problem, "nothing: no valid reference"
		remedy += "a workload"
	default:
		return
	}
	if r.Remedies = []string{remedy}; !scale.OwnsPods(scaler.Kind.Kind) {
		r.Remedies = []string{deletion(scaler), "or " + remedy}
	}
	a.report.Risks = append(a.report.Risks, r)
}
