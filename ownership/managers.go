package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// Managers lists field managers by kind. The lists contain names or path.Match patterns, such as "kubectl-*". A manager that
// several lists match has the kind of the first of them, in the order of this struct. Managers of manifests need not be listed:
// they are recognized by what they write (IsApplier).
type Managers struct {
	// Autoscalers set the replicas of workloads. The HorizontalPodAutoscaler controller need not be listed: the
	// HorizontalPodAutoscaler objects show which objects it targets. A listed manager never counts as an applier.
	Autoscalers []string
	// Readable are those of the Autoscalers that own nothing by their name: the objects with which they reference what they scale
	// can be read (Scaler.Readable).
	Readable []string
	// Appliers apply manifests.
	Appliers []string
	// Imperative managers are used by imperative commands, such as kubectl edit.
	Imperative []string

	// Scale returns the path of the scale field of the objects at hand, nil if it is not known (WithRules).
	Scale ScalePaths

	rules    ObjectRules // of the object at hand (WithRules)
	evidence *evidence
}

// WithRules returns the managers for one object: with its rules, whose writers never apply manifests to it, even if they use server-side
// apply, and its scale field. What its entries show is then read once; states are the object in live and incoming.
func (m Managers) WithRules(rules ObjectRules, scale ScalePaths, states ...Object) Managers {
	m.rules, m.Scale, m.evidence = rules, scale, newEvidence(states)
	return m
}

// Rules returns the rules of the object at hand, in their order.
func (m Managers) Rules() []*Rule { return m.rules.rules }

// RulesFor returns those of the Rules that assign a field, in their order.
func (m Managers) RulesFor(field fieldpath.Path) []*Rule { return m.rules.covering(field, nil) }

// IsAutoscaler reports whether the manager is listed as an autoscaler.
func (m Managers) IsAutoscaler(manager string) bool { return matches(m.Autoscalers, manager) }

// isController reports whether the manager never applies manifests.
func (m Managers) isController(manager string) bool {
	return m.IsAutoscaler(manager) || slices.ContainsFunc(m.rules.rules, func(r *Rule) bool { return !r.isOpen() && matches(r.Writers, manager) })
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
	return once(m.known().applier, e.Fields, func() bool { return m.readApplier(e) })
}

func (m Managers) readApplier(e Entry) bool {
	switch {
	case m.isController(e.Manager):
		return false
	case matches(m.Appliers, e.Manager):
		return true
	case e.Operation == managedfields.OperationApply:
		return e.Manager == kubectl || !m.onlyControls(e)
	default:
		return !matches(m.Imperative, e.Manager) && (m.recordsManifest(e) || m.appliesLastApplied(e) && !m.isControlled(e))
	}
}

// kubectl is the field manager of kubectl apply --server-side. kubectl scale has the same name, with another operation.
const kubectl = "kubectl"

// IsImperative reports whether the entry records imperative commands.
func (m Managers) IsImperative(e Entry) bool {
	return !m.isController(e.Manager) && !m.IsApplier(e) && matches(m.Imperative, e.Manager)
}
