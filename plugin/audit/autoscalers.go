package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

const hpaPrefix = "HorizontalPodAutoscaler/"

// several adds a risk if several autoscalers target an object.
func (a *auditor) several(e explain.Explanation) {
	rivals := a.survey.Rivals(e.Subject)
	if len(rivals) < 2 || e.Subject.Context.Scale == nil {
		return
	}
	r := Risk{
		Kind: TwoAutoscalers, Object: explain.ObjectOf(e.Subject), name: e.Subject.String(),
		Field: explain.Text(e.Subject.Context.Scale),
		Now:   e.Short(e.Subject.Context.Scale, e.Subject.Object.Value(e.Subject.Context.Scale)),
	}
	r.Managers = rivals
	var bounds []string
	for i, rival := range rivals {
		if strings.HasPrefix(rival, hpaPrefix) {
			continue
		}
		bounds = append(bounds, rival)
		if i > 0 {
			r.Remedies = append(r.Remedies, fmt.Sprintf("kubectl delete %s -n %s", strings.ToLower(rival), e.Subject.Namespace))
		}
	}
	for _, hpa := range a.survey.On(e.Subject) {
		at := slices.Index(rivals, hpaPrefix+hpa.Name)
		if at < 0 {
			continue
		}
		bounds = append(bounds, fmt.Sprintf("%s %d to %d", hpa.Name, hpa.Min, hpa.Max))
		r.Since = max(r.Since, hpa.Ambiguous)
		if at > 0 {
			r.Remedies = append(r.Remedies, fmt.Sprintf("kubectl delete %s -n %s", hpa, hpa.Namespace))
		}
	}
	r.NextApply = "each autoscaler scales it: " + strings.Join(bounds, ", ")
	if r.Since != "" {
		r.NextApply = "no autoscaler scales by metrics: " + strings.Join(bounds, ", ")
	}
	a.add(r)
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
	field := scaler.Path[strings.LastIndex(scaler.Path, ".")+1:]
	var remedy string
	switch {
	case scaler.Presence == source.Missing && scaler.Min > 0:
		r.NextApply = fmt.Sprintf("is scaled to at least %d once it exists", scaler.Min)
		remedy = "apply " + scaler.TargetText()
	case scaler.Presence == source.Missing:
		r.NextApply = "is scaled once it exists"
		remedy = "apply " + scaler.TargetText()
	case scaler.Presence == source.NotScalable:
		r.NextApply = "nothing: no such kind with a scale subresource"
		remedy = "set its " + field + " to a kind with a scale subresource"
	case scaler.Presence == source.NotReferenced:
		r.Now, r.NextApply = scaler.Problem, "nothing: no valid reference"
		remedy = "set its " + field + " to a workload"
	default:
		return
	}
	if scale.OwnsPods(scaler.Kind.GroupKind()) {
		r.Remedies = []string{remedy}
	} else {
		r.Remedies = []string{fmt.Sprintf("kubectl delete %s -n %s", scaler, scaler.Namespace), "or " + remedy}
	}
	a.add(r)
}
