package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
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

// ScalePaths returns the path of an object's scale field in an API version ("apps/v1"). It is that of another version if the kind
// declares none there, and nil if it declares none at all.
type ScalePaths func(apiVersion string) fieldpath.Path

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

// IsImperative reports whether the entry records imperative commands.
func (m Managers) IsImperative(e Entry) bool {
	return !m.isController(e.Manager) && !m.IsApplier(e) && matches(m.Imperative, e.Manager)
}

// writes reports whether a manager's entry is that of a writer of a rule.
func (m Managers) writes(r *Rule, e Entry) bool {
	switch {
	case r.AnyWriter():
		return !m.IsApplier(e)
	case len(r.Writers) > 0:
		return matches(r.Writers, e.Manager)
	default:
		return !m.IsApplier(e) && !m.IsImperative(e)
	}
}

// IsEditable reports whether the rule by which a controller owns a field lets a new value in the manifest win (EditApply).
func (m Managers) IsEditable(field fieldpath.Path, owner FieldOwner) bool {
	return slices.ContainsFunc(m.RulesFor(field), owner.isEditableBy)
}

// RulesInside returns the rules that name fields inside an atomic field, and of which one of its managers is a writer, in their order.
func (m Managers) RulesInside(atomic fieldpath.Path, entries []Entry) (inside []*Rule) {
	for _, rule := range m.rules.rules {
		leads := slices.ContainsFunc(rule.Fields, func(p Pattern) bool { return len(p) > len(atomic) && p[:len(atomic)].Matches(atomic) })
		if leads && slices.ContainsFunc(entries, func(e Entry) bool { return m.writes(rule, e) }) {
			inside = append(inside, rule)
		}
	}
	return inside
}

// ObjectContext is what the owners of an object's fields depend on, besides the live object.
type ObjectContext struct {
	// Managers are those for the object's kind and its rules (Managers.WithRules).
	Managers Managers
	// Scaler is what references the object, and Autoscaler the owner of the scale field by it (ScalerThatOwns): empty if none owns it.
	Scaler     Scaler
	Autoscaler string
	// Scale is the path of the scale field, nil if the object's kind has none.
	Scale fieldpath.Path
}

// IsScale reports whether a path is that of the scale field.
func (c ObjectContext) IsScale(path fieldpath.Path) bool {
	return c.Scale != nil && path.Equals(c.Scale)
}

// isOff reports whether a field is the scale field, with a value that switches the scaler off.
func (c ObjectContext) isOff(path fieldpath.Path, live []byte) bool {
	return c.IsScale(path) && c.Scaler.OffAtZero && string(live) == "0"
}
