package accepted_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func (o observation) record() (found []finding) {
	if o.refused != nil {
		return nil
	}
	if o.server {
		own, ok := entrySetsOf(o.stored)[o.applier]
		for _, p := range o.words.kept {
			if _, sets := at(o.manifest, p); ok && !sets && own.Has(p) {
				found = append(found, finding{check: checkRecord, at: p.String(), text: fmt.Sprintf("%s is in the entry %s; warnings: %q", p, o.applier, o.warnings)})
			}
		}
		return found
	}
	last, err := lastAppliedOf(o.stored)
	if err != nil {
		return []finding{{check: checkRecord, at: err.Error(), text: err.Error()}}
	}
	for _, p := range o.words.kept {
		if _, ok := at(last, p); ok {
			found = append(found, finding{check: checkRecord, at: p.String(), text: fmt.Sprintf("%s is in %s", p, text(last))})
		}
		for i := 1; i < len(p); i++ {
			before, _ := at(o.manifest, p[:i])
			after, ok := at(last, p[:i])
			if members, isMap := after.(map[string]any); ok && isMap && len(members) == 0 && p[:i].String() != ".metadata.annotations" && !reflect.DeepEqual(before, after) {
				found = append(found, finding{check: checkRecord, at: p[:i].String() + " {}", text: fmt.Sprintf("%s is {} in %s", p[:i], text(last))})
			}
		}
	}
	return found
}

func (o observation) repeated() []finding {
	switch {
	case o.refused != nil || o.again == nil:
		return nil
	case o.refusedAgain != nil && o.refusedOff != nil, o.repeatsLikeTwin():
		return nil // the same without handoff, so the API server is the cause
	case o.refusedAgain != nil:
		return []finding{{check: checkAgain, at: rule(o.refusedAgain), text: o.refusedAgain.Error()}}
	case o.again.GetResourceVersion() == o.stored.GetResourceVersion():
		return nil
	}
	difference := o.difference(o.stored, o.again)
	return []finding{{check: checkAgain, at: difference, text: fmt.Sprintf("the second apply stores %s; warnings before: %q", difference, o.warnings)}}
}

// repeatsLikeTwin reports whether a second apply changes the object in the same way without handoff.
func (o observation) repeatsLikeTwin() bool {
	return o.refusedAgain == nil && o.refusedOff == nil && o.difference(o.stored, o.again) != "" && o.difference(o.off, o.again) == ""
}

// difference returns the fields and managedFields entries in which two objects differ.
func (o observation) difference(a, b *unstructured.Unstructured) string {
	var names []string
	for _, p := range append(o.schemas.leaves(a.Object), o.schemas.leaves(b.Object)...) {
		if p.String() != ".metadata" && !equal(a.Object, b.Object, p) {
			names = append(names, p.String())
		}
	}
	if before, after := a.GetAnnotations()[lastApplied], b.GetAnnotations()[lastApplied]; before != after {
		names = append(names, "last-applied")
	}
	was, is := entrySetsOf(a), entrySetsOf(b)
	for name, set := range is {
		mode := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "annotations", modeAnnotation), fieldpath.MakePathOrDie("metadata", "annotations"))
		if old := was[name]; old == nil || !old.Difference(mode).Equals(set.Difference(mode)) {
			names = append(names, "entry "+name)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

func (o observation) withoutHandoff() (found []finding) {
	if o.refused != nil || o.off == nil || o.refusedOff != nil {
		return nil
	}
	for _, p := range o.words.kept {
		if !o.says(p) && !equal(o.stored.Object, o.off.Object, p) {
			was, _ := at(o.stored.Object, p)
			is, _ := at(o.off.Object, p)
			found = append(found, finding{check: checkOff, at: p.String(), text: fmt.Sprintf("%s: was %s, becomes %s; last-applied %s", p, text(was), text(is), o.stored.GetAnnotations()[lastApplied])})
		}
	}
	return found
}
