package audit

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

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

// targets adds risks for autoscalers that scale nothing.
func (a *auditor) targets() {
	for _, hpa := range a.survey.Autoscalers {
		if !hpa.Chosen {
			continue
		}
		var why, remedy string
		switch hpa.Presence {
		case source.Missing:
			why = fmt.Sprintf("is scaled to at least %d once it exists", hpa.Min)
			remedy = "or apply " + hpa.TargetText()
		case source.NotScalable:
			why = "nothing: no such kind with a scale subresource"
			remedy = "or set its scaleTargetRef to a kind with a scale subresource"
		default:
			continue
		}
		a.add(Risk{
			Kind: NoTarget, name: hpa.String(), Field: ".spec.scaleTargetRef", Now: "no " + hpa.TargetText(), NextApply: why,
			Since: hpa.Since, Remedies: []string{fmt.Sprintf("kubectl delete %s -n %s", hpa, hpa.Namespace), remedy},
			Object: explain.ObjectData{
				APIVersion: autoscalingv2.SchemeGroupVersion.String(), Kind: "HorizontalPodAutoscaler",
				Namespace: hpa.Namespace, Name: hpa.Name,
			},
		})
	}
}
