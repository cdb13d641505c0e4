package ownership

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Managers lists field managers by kind. The lists contain names or path.Match patterns, such as "kubectl-*". A manager that
// several lists match has the kind of the first of them, in the order of this struct. Managers of manifests need not be listed:
// they are recognized by what they write (IsApplier).
type Managers struct {
	// Autoscalers set the replicas of workloads. The HorizontalPodAutoscaler controller need not be listed: the
	// HorizontalPodAutoscaler objects show which objects it targets. A listed manager never counts as an applier.
	Autoscalers []string
	// Controllers never apply manifests to the objects at hand, even if they use server-side apply (For).
	Controllers []string
	// Readable are those of the Autoscalers that own nothing by their name: the objects with which they reference what they scale
	// can be read (Scaler.Readable).
	Readable []string
	// Appliers apply manifests.
	Appliers []string
	// Imperative managers are used by imperative commands, such as kubectl edit.
	Imperative []string

	// Scale returns the path of the scale field of the objects at hand, nil if it is not known (For).
	Scale ScalePaths

	// controlled matches the fields that rules assign to controllers (WithControlled), identifying those by which a server-side applier
	// counts as a controller.
	controlled, identifying *patternTree
}

// WithControlled returns the managers for an object in which rules assign the fields that patterns match to controllers
// (ControllerPatterns).
func (m Managers) WithControlled(patterns []Pattern) Managers {
	m.controlled = newPatternTree(patterns)
	m.identifying = newPatternTree(slices.DeleteFunc(slices.Clone(patterns), Pattern.isBroad))
	return m
}

// Controls reports whether rules assign a field to controllers.
func (m Managers) Controls(field fieldpath.Path) bool {
	return patternMatcher{tree: m.controlled}.covers(field)
}

// For returns the managers for the objects of one kind: with the managers of the rules that apply to it, and its scale field.
func (m Managers) For(kind schema.GroupKind, rules []Rule, scale ScalePaths) Managers {
	for _, rule := range rules {
		if len(rule.Managers) > 0 && rule.Matches(kind.Group, kind.Kind) {
			m.Controllers = append(m.Controllers[:len(m.Controllers):len(m.Controllers)], rule.Managers...)
		}
	}
	m.Scale = scale
	return m
}

// IsAutoscaler reports whether the manager is listed as an autoscaler.
func (m Managers) IsAutoscaler(manager string) bool { return matches(m.Autoscalers, manager) }

// isController reports whether the manager never applies manifests.
func (m Managers) isController(manager string) bool {
	return m.IsAutoscaler(manager) || matches(m.Controllers, manager)
}

// ownsScale reports whether a manager owns the scale field that it has written because it is listed as an autoscaler.
func (m Managers) ownsScale(manager string) bool {
	return m.IsAutoscaler(manager) && !slices.Contains(m.Readable, manager)
}

// IsApplier reports whether the entry records an applied manifest. It does if its manager is listed as an applier, and also in
// these cases, by what the manager writes:
//   - server-side apply by kubectl, and by any other manager unless it only sets fields of controllers on an object that others have
//     declared (onlyControls)
//   - an update by a manager that manages the annotation with the last-applied configuration or the Helm release, or most of what
//     the former declares and more than fields of controllers, and that is not listed as imperative: kubectl edit can also change
//     the annotation
//
// Entries of autoscalers and controllers never do.
func (m Managers) IsApplier(e Entry) bool {
	switch {
	case m.isController(e.Manager):
		return false
	case matches(m.Appliers, e.Manager):
		return true
	case e.Operation == OperationApply:
		return e.Manager == kubectl || !m.onlyControls(e)
	default:
		return !matches(m.Imperative, e.Manager) && (e.recordsManifest() || e.appliesLastApplied() && !m.isControlled(e))
	}
}

// kubectl is the field manager of kubectl apply --server-side. kubectl scale has the same name, with another operation.
const kubectl = "kubectl"

// IsImperative reports whether the entry records imperative commands.
func (m Managers) IsImperative(e Entry) bool {
	return !m.isController(e.Manager) && !m.IsApplier(e) && matches(m.Imperative, e.Manager)
}

func matches(patterns []string, manager string) bool {
	for _, pattern := range patterns {
		if pattern == manager {
			return true
		}
		if !strings.ContainsAny(pattern, `*?[\`) {
			continue
		}
		if ok, err := path.Match(pattern, manager); ok && err == nil {
			return true
		}
	}
	return false
}
