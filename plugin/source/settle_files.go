package source

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/scale"
)

// expect notes a namespace that there is.
func (f *fileSurvey) expect(namespace string) {
	if _, known := f.Namespaces[namespace]; !known && namespace != "" {
		f.Namespaces[namespace] = UnknownMode
	}
}

// unsaid notes the namespaces that the files lack.
func (f *fileSurvey) unsaid() {
	var names []string
	for name, namespace := range f.Namespaces {
		if namespace == UnknownMode {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > 0 {
		f.gap("in which mode handoff is in namespace %s is not known; add the namespaces to the files: kubectl get namespaces -o yaml",
			some(names))
	}
}

// settle finds out whether the targets are there that the files do not hold, as far as files can tell: by the status of the
// autoscaler, and where they hold others of the kind in the namespace.
func (f *fileSurvey) settle() {
	var open []string
	for i := range f.Autoscalers {
		a := &f.Autoscalers[i]
		switch {
		case a.Presence != NotKnown || !a.Chosen:
		case a.Since != "":
			a.Presence = Missing
		case a.able:
			a.Presence = Present
		case f.held[a.Target][a.Namespace]:
			a.Presence = Missing
		default:
			open = append(open, a.TargetText())
		}
	}
	if len(open) > 0 {
		f.gap("whether what HorizontalPodAutoscalers target is there is not known of %s: the files lack it; add it to them", some(open))
	}
}

// settleKind notes what the kind of a target tells already: of a custom one, its definition.
func (f *fileSurvey) settleKind(a *Autoscaler) {
	scales := scale.Builtin(a.Target.Group, a.Target.Kind) != nil
	known := builtin(a.Target.Group)
	for i := range f.facts.crds {
		crd := &f.facts.crds[i]
		if crd.Spec.Group != a.Target.Group || crd.Spec.Names.Kind != a.Target.Kind {
			continue
		}
		known = true
		for _, version := range crd.Spec.Versions {
			scales = scales || version.Subresources != nil && version.Subresources.Scale != nil
		}
	}
	if known && !scales {
		a.Presence = NotScalable
	}
}

// some names a few of many.
func some(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:2], ", "), len(names)-2)
}

func hpaKind() schema.GroupKind {
	return schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
}
