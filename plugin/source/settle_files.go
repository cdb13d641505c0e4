package source

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/scale"
)

// expect adds a namespace that an object is in, with UnknownMode if the files do not contain it.
func (f *fileSurvey) expect(namespace string) {
	if _, known := f.survey.Namespaces[namespace]; !known && namespace != "" {
		f.survey.Namespaces[namespace] = UnknownMode
	}
}

// reportUnknownModes adds a gap for the namespaces that the files do not contain.
func (f *fileSurvey) reportUnknownModes() {
	var names []string
	for name, namespace := range f.survey.Namespaces {
		if namespace == UnknownMode {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > 0 {
		f.survey.gap("the mode of handoff in namespace %s is unknown; add the namespaces to the files: kubectl get namespaces -o yaml",
			some(names))
	}
}

// settle determines whether the targets exist that the files do not contain: from the autoscaler's status, or because the files
// contain other objects of the same kind and namespace.
func (f *fileSurvey) settle() {
	var open []string
	for i := range f.survey.Autoscalers {
		a := &f.survey.Autoscalers[i]
		switch {
		case a.Presence != NotKnown || !a.Chosen:
		case a.Since != "":
			a.Presence = Missing
		case a.able:
			a.Presence = Present
		case f.contained[a.Target][a.Namespace]:
			a.Presence = Missing
		default:
			open = append(open, a.TargetText())
		}
	}
	if len(open) > 0 {
		f.survey.gap("unknown whether the targets %s of autoscalers exist; add them to the files", some(open))
	}
}

// settleKind marks an autoscaler with a target kind that cannot be scaled, according to the CustomResourceDefinition of a custom
// resource.
func (f *fileSurvey) settleKind(a *Autoscaler) {
	scales := scale.Known(a.Target.Group, a.Target.Kind) != nil
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

// some returns the first few names and the number of others.
func some(names []string) string {
	if len(names) <= 3 {
		return printable.Names(names, len(names))
	}
	return printable.Names(names[:2], len(names))
}

func hpaKind() schema.GroupKind {
	return schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
}
