package ownership

import (
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// HelmReleaseAnnotation names the release that an object belongs to. Helm, and every program that uses its library, sets it on
// each object of a release (setMetadataVisitor in helm.sh/helm/v3/pkg/action).
const HelmReleaseAnnotation = "meta.helm.sh/release-name"

// HelmReleasePath returns the path of HelmReleaseAnnotation.
func HelmReleasePath() fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", HelmReleaseAnnotation)
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

// declares reports whether an entry contains fields other than metadata and status.
func declares(e Entry) bool {
	for part := range e.Fields.Parts() {
		if !slices.Contains([]string{"f:metadata", "f:status", "."}, part.Name()) {
			return true
		}
	}
	return false
}

// managedValues returns how many values outside of lists a field set contains that a manifest declares and that the object has.
func managedValues(path fieldpath.Path, set, manifest, live *jsontree.Node) (managed int) {
	depth := len(path)
	for part := range set.Parts() {
		name, isField := strings.CutPrefix(part.Name(), "f:")
		if declared := manifest.Member(name); isField && declared != nil {
			is := live.Member(name)
			path = append(path[:depth], fieldpath.FieldNameElement(name))
			managed += managedValues(path, part, declared, is)
			if isValue(path, declared) && apitypes.SameValue(is.Text(), declared.Text()) {
				managed++
			}
		}
	}
	return managed
}

// valuesIn returns how many values outside of lists a manifest declares.
func valuesIn(path fieldpath.Path, manifest *jsontree.Node) (values int) {
	if !manifest.IsObject() {
		return 0
	}
	depth := len(path)
	for part := range manifest.Parts() {
		path = append(path[:depth], fieldpath.FieldNameElement(part.Name()))
		values += valuesIn(path, part)
		if isValue(path, part) {
			values++
		}
	}
	return values
}

// isValue reports whether a manifest declares a scalar at a path that does not identify the object.
func isValue(path fieldpath.Path, declared *jsontree.Node) bool {
	return !declared.IsObject() && !declared.IsNull() && declared.Kind() != '[' && !apitypes.IsIdentity(path)
}

// evidence is what the entries of an object show, in live and incoming. It is read when it is first needed, and once: owners are determined
// for each field.
type evidence struct {
	objects             map[*jsontree.Node]*surroundings
	applier, controlled map[*jsontree.Node]bool // by Entry.Fields
}

func newEvidence(states []Object) *evidence {
	v := &evidence{map[*jsontree.Node]*surroundings{}, map[*jsontree.Node]bool{}, map[*jsontree.Node]bool{}}
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
	return manifest, valuesIn(nil, manifest)
}
