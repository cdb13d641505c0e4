package ownership

import (
	"path"
	"slices"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
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

// matches reports whether a name is one of the names or path.Match patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return pattern == name || ok && err == nil
	})
}

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
	if !r.isOpen() {
		return matches(r.Writers, e.Manager)
	}
	return !m.IsApplier(e) && (r.AnyWriter() || !m.IsImperative(e))
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

// IsApplier reports whether the entry records an applied manifest. It does if its manager is listed as an applier, and also in
// these cases, by what the manager writes:
//   - server-side apply by kubectl, and by any other manager unless it only sets fields of controllers on an object that others have
//     declared (onlyControls)
//   - an update by a manager that manages the annotation with the last-applied configuration or the Helm release, or most of what
//     the former declares and more than the scale field and fields of rules, and that is not listed as imperative: kubectl edit can
//     also change the annotation
//
// Entries of autoscalers and controllers never do, nor those that stand for managers that are not recorded.
func (m Managers) IsApplier(e Entry) bool {
	return once(m.known().applier, e.Fields, func() bool { return m.readApplier(e) })
}

func (m Managers) readApplier(e Entry) bool {
	switch {
	case m.isController(e.Manager), e.IsAnonymous():
		return false
	case matches(m.Appliers, e.Manager):
		return true
	case e.Operation == managedfields.OperationApply:
		return e.Manager == kubectl || !m.onlyControls(e)
	default:
		ofAnyRule := func(*Rule) bool { return true }
		return !matches(m.Imperative, e.Manager) && (m.recordsManifest(e) || !m.isCovered(e, ofAnyRule) && m.appliesLastApplied(e))
	}
}

// kubectl is the field manager of kubectl apply --server-side. kubectl scale has the same name, with another operation.
const kubectl = "kubectl"

// HelmReleaseAnnotation names the release that an object belongs to. Helm, and every program that uses its library, sets it on
// each object of a release (setMetadataVisitor in helm.sh/helm/v3/pkg/action).
const HelmReleaseAnnotation = "meta.helm.sh/release-name"

// HelmReleasePath returns the path of HelmReleaseAnnotation.
func HelmReleasePath() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", HelmReleaseAnnotation)
}

// recordsManifest reports whether an entry of an update contains an annotation by which a tool records the manifest that it has
// applied to this object. A controller can also write these annotations, if it copies all annotations of its own object to
// those that it creates. They do not count: the last-applied configuration of another object, and the Helm release of an object
// that a controller created.
func (m Managers) recordsManifest(e Entry) bool {
	if e.Subresource != "" {
		return false
	}
	of := m.known().of(e)
	return e.Contains(LastAppliedPath()) && (of == nil || of.object.hasOwnLastApplied()) ||
		e.Contains(HelmReleasePath()) && (of == nil || !of.hasController())
}

// coverSteps limits the steps that a field set may cost, for each of its first 64 Ki bytes. One that costs more does not count as covered.
const coverSteps = 4

// onlyControls reports whether a server-side apply sets the scale field or fields that rules assign to controllers, and nothing
// else, on an object that another manager has declared. That is how an operator scales a workload, and not a manifest. An entry
// with the time of the object's creation has created it.
func (m Managers) onlyControls(e Entry) bool {
	of := m.known().of(e)
	if of == nil || !m.isControlled(e) || of.isCreatedBy(e) {
		return false
	}
	declarers := once(m.known().declarers, e.Object, func() []string { return m.declarers(of) })
	return slices.ContainsFunc(declarers, func(manager string) bool { return manager != e.Manager })
}

// declarers returns the first two managers that have declared more of an object than fields of controllers: one of them is another than any
// given one.
func (m Managers) declarers(of *surroundings) (found []string) {
	for _, e := range of.entries() {
		if len(found) < 2 && e.Subresource == "" && !slices.Contains(found, e.Manager) && declares(e) && !m.isControlled(e) {
			found = append(found, e.Manager)
		}
	}
	return found
}

// declares reports whether an entry contains fields other than metadata and status.
func declares(e Entry) bool {
	for part := range e.Fields.Parts() {
		if !slices.Contains([]string{"f:metadata", "f:status", "."}, part.Name()) {
			return true
		}
	}
	return false
}

// isControlled reports whether an entry contains nothing but the scale field and fields that rules assign to controllers.
func (m Managers) isControlled(e Entry) bool {
	return once(m.known().controlled, e.Fields, func() bool { return m.isCovered(e, (*Rule).isOpen) })
}

// isCovered reports whether an entry contains nothing but the scale field and fields of the rules that are counted.
func (m Managers) isCovered(e Entry, counts func(*Rule) bool) bool {
	left := coverSteps * min(len(e.Fields.Text()), 64<<10)
	identifies := ruleMatcher{
		Accepts: func(end ruleEnd) bool { return end.Of == nil || counts(end.Of) && !end.Broad },
		Meter:   func(steps int) bool { left -= steps; return left >= 0 },
	}
	scale := &ruleTree{}
	if m.Scale != nil {
		if at := m.Scale(e.APIVersion); at != nil {
			scale.Add(nil, fieldpattern.PatternOf(at))
		}
	}
	return coverAll(identifies, append(slices.Clip(m.rules.start), scale), e.Fields)
}

// coverAll reports whether a field set has fields, and patterns cover all of them. patterns are where the path to the set leads to.
func coverAll(m ruleMatcher, patterns []*ruleTree, set *jsontree.Node) (covered bool) {
	for part := range set.Parts() {
		if part.Name() == "." {
			continue
		}
		next, all, ok := m.Step(patterns, part.Name())
		if !all && (!ok || fieldtree.IsLeaf(part) || !coverAll(m, next, part)) {
			return false
		}
		covered = true
	}
	return covered
}

// appliesLastApplied reports whether an update's entry contains most of the values that the last-applied configuration declares and
// that the object has, as that of a manager whose manifest another one has applied since. Lists do not count: the object has more in
// them. A controller that created the object is not one that applies its manifest.
func (m Managers) appliesLastApplied(e Entry) bool {
	of := m.known().of(e)
	if of == nil || e.Subresource != "" || of.hasController() {
		return false
	}
	manifest, values := of.declared()
	return 2*managedfields.ManagedValues(e.Fields, manifest, of.object.root) > values
}

// known returns the evidence, a new one without WithRules.
func (m Managers) known() *evidence {
	if m.evidence == nil {
		return newEvidence(nil)
	}
	return m.evidence
}

// evidence is what the entries of an object show, in live and incoming. It is read when it is first needed, and once: owners are determined
// for each field.
type evidence struct {
	objects             map[*jsontree.Node]*surroundings
	applier, controlled map[*jsontree.Node]bool     // by Entry.Fields
	declarers           map[*jsontree.Node][]string // by Entry.Object
}

func newEvidence(states []Object) *evidence {
	v := &evidence{
		objects: map[*jsontree.Node]*surroundings{}, applier: map[*jsontree.Node]bool{}, controlled: map[*jsontree.Node]bool{},
		declarers: map[*jsontree.Node][]string{},
	}
	for _, o := range states {
		v.objects[o.root] = o.surroundings()
	}
	return v
}

// of returns the object of an entry, nil if it is unknown.
func (v *evidence) of(e Entry) *surroundings {
	if e.Object == nil {
		return nil
	}
	return once(v.objects, e.Object, func() *surroundings {
		o, _ := ObjectAt(e.Object) // an entry is part of an object
		return o.surroundings()
	})
}

// once returns the value of a node, which it reads at first. It reads that of a missing node each time.
func once[Value any](values map[*jsontree.Node]Value, of *jsontree.Node, read func() Value) Value {
	if value, found := values[of]; found && of != nil {
		return value
	}
	value := read()
	values[of] = value
	return value
}

// surroundings are the object that entries belong to, and what it shows.
type surroundings struct {
	object        Object
	entries       func() []Entry
	hasController func() bool
	// declared returns the last-applied configuration, and the number of values outside of lists in it; nil and 0 if there is none, or if
	// it is that of another object.
	declared func() (manifest *jsontree.Node, values int)
}

func (o Object) surroundings() *surroundings {
	entries := func() []Entry {
		entries, _ := o.Entries() // entries of it have been read
		return entries
	}
	return &surroundings{o, sync.OnceValue(entries), sync.OnceValue(o.hasController), sync.OnceValues(o.declared)}
}

// hasController reports whether the object has a controller (metav1.GetControllerOf).
func (o Object) hasController() bool {
	for reference := range o.root.At("metadata", "ownerReferences").Parts() {
		if reference.Member("controller").Kind() == 't' {
			return true
		}
	}
	return false
}

// isCreatedBy reports whether an entry has created the object, as far as their times tell, which are whole seconds. Workloads require
// a template or a selector, so that their creator has set more than fields of controllers.
func (s *surroundings) isCreatedBy(e Entry) bool {
	if spec := s.object.root.Member("spec"); spec.Member("template") != nil || spec.Member("selector") != nil {
		return false
	}
	created, ok := s.object.root.At("metadata", "creationTimestamp").String()
	return ok && created == e.Time
}

// declared is surroundings.declared.
func (o Object) declared() (manifest *jsontree.Node, values int) {
	if !o.hasOwnLastApplied() {
		return nil, 0
	}
	manifest, _ = o.LastAppliedManifest()
	return manifest, managedfields.Values(manifest)
}
