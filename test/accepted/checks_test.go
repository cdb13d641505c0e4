package accepted_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// finding is a violation of a check by a write.
type finding struct {
	// check is the violated check, at the field or the validation rule.
	check, at string
	text      string
	// cause replaces the field in a class if fields do not distinguish causes.
	cause string
}

// class returns a text that is the same for findings with the same likely cause.
func (f finding) class() string {
	if f.cause != "" {
		return f.check + ": " + general(f.cause)
	}
	return f.check + ": " + general(f.at)
}

var (
	templatePrefix = regexp.MustCompile(`(^|\s)\.?(spec\.jobTemplate\.spec\.template|spec\.template|template)\b`)
	brackets       = regexp.MustCompile(`\[[^\]]*\]`)
	numbers        = regexp.MustCompile(`\d+`)
)

func general(text string) string {
	return numbers.ReplaceAllString(brackets.ReplaceAllString(templatePrefix.ReplaceAllString(text, "${1}~"), "[]"), "N")
}

// The checks, in order.
const (
	checkOpen      = "the webhook does not fail open"
	checkWords     = "a warning names a field of the object"
	checkAccepted  = "an apply that the API server accepts is accepted with handoff"
	checkValue     = "a kept field has the value it had"
	checkEntries   = "a kept field has the managedFields entries it had"
	checkHalf      = "a parent of kept fields is recreated whole or not at all"
	checkElsewhere = "a field not named as kept is the same as without handoff"
	checkOwners    = "the managedFields entries of a field not named as kept are the same as without handoff"
	checkRemoval   = "a field with the last manifest's value is deleted if the manifest drops it"
	checkSilent    = "a field that another manager changed is not lost without a warning"
	checkRecord    = "last-applied contains neither kept fields nor their empty parents"
	checkAgain     = "a second identical apply stores nothing"
	checkOff       = "the same apply without handoff does not change a kept field"
	checkKubectl   = "kubectl sends and stores the same"
)

func (o observation) check() []finding {
	var found []finding
	for _, check := range []func(observation) []finding{
		observation.troubled, observation.accepted, observation.keptValues, observation.keptEntries, observation.halves, observation.elsewhere,
		observation.owners,
		observation.removed, observation.silent, observation.record, observation.repeated, observation.withoutHandoff,
	} {
		found = append(found, check(o)...)
	}
	if o.kubectl != "" {
		found = append(found, finding{check: checkKubectl, cause: "difference", text: o.kubectl})
	}
	return found
}

func (o observation) troubled() (found []finding) {
	if o.words.open != "" {
		found = append(found, finding{check: checkOpen, at: o.words.open, text: o.words.open})
	}
	if o.unusable != nil {
		found = append(found, finding{check: checkRecord, cause: "kubectl cannot merge it", text: fmt.Sprintf("%v; warnings: %q", o.unusable, o.warnings)})
	}
	for _, warning := range o.words.unread {
		found = append(found, finding{check: checkWords, at: warning, text: warning})
	}
	return found
}

func (o observation) accepted() []finding {
	if o.refusedTwin != nil || o.refused == nil {
		return nil
	}
	return []finding{{check: checkAccepted, at: rule(o.refused), text: fmt.Sprintf("%v\n  warnings: %q", o.refused, o.warnings)}}
}

// rule returns the validation errors that reject an object, without values.
func rule(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return err.Error()
	}
	var rules []string
	quoted := regexp.MustCompile(`"(\\.|[^"])*"|\{.*\}|Invalid value: .*?: `)
	for _, cause := range status.Status().Details.Causes {
		rules = append(rules, "."+cause.Field+" "+quoted.ReplaceAllString(cause.Message, ""))
	}
	slices.Sort(rules)
	return strings.Join(slices.Compact(rules), " + ")
}

// compared reports whether there are two stored objects to compare.
func (o observation) compared() bool { return o.refusedTwin == nil && o.refused == nil }

func (o observation) keptValues() (found []finding) {
	for _, p := range o.words.kept {
		if o.refused == nil && !equal(o.live.Object, o.stored.Object, p) {
			was, _ := at(o.live.Object, p)
			is, _ := at(o.stored.Object, p)
			found = append(found, finding{check: checkValue, at: p.String(), text: fmt.Sprintf("%s: was %s, is %s; warnings: %q", p, text(was), text(is), o.warnings)})
		}
	}
	return found
}

// keptEntries ignores the server-side applier's own entry, which records the fields of its manifest, and the temporary manager of
// a field that no other entry contains.
func (o observation) keptEntries() (found []finding) {
	if o.refused != nil {
		return nil
	}
	before, after := entrySetsOf(o.live), entrySetsOf(o.stored)
	for _, p := range o.words.kept {
		was, is := before.on(p), after.on(p)
		if o.server {
			delete(was, o.applier)
			delete(is, o.applier)
		}
		if len(was) == 0 {
			maps.DeleteFunc(is, func(name, _ string) bool { return strings.HasPrefix(name, "ownership-handoff/") })
		}
		if !maps.Equal(was, is) {
			found = append(found, finding{check: checkEntries, at: p.String(), text: fmt.Sprintf("%s: was %v, is %v; warnings: %q", p, was, is, o.warnings)})
		}
	}
	return found
}

// elsewhere allows the parents of a kept field, and the other fields of a parent that was recreated.
func (o observation) elsewhere() (found []finding) {
	if !o.compared() || o.words.more {
		return nil
	}
	stored, twin := withoutServer(o.stored.Object), withoutServer(o.twin.Object)
	for _, p := range append(o.schemas.leaves(stored), o.schemas.leaves(twin)...) {
		if equal(stored, twin, p) || o.words.name(p) || chosen(p) || o.broughtAlong(p) || o.defaulted(p) {
			continue
		}
		want, _ := at(twin, p)
		got, _ := at(stored, p)
		found = append(found, finding{check: checkElsewhere, at: p.String(), text: fmt.Sprintf("%s: without handoff %s, with it %s; warnings: %q", p, text(want), text(got), o.warnings)})
	}
	return found
}

// owners compares the managedFields entries of the fields whose values elsewhere compares.
func (o observation) owners() (found []finding) {
	if !o.compared() || o.words.more {
		return nil
	}
	stored, twin := entrySetsOf(o.stored), entrySetsOf(o.twin)
	for name := range stored {
		if twin[name] == nil {
			twin[name] = &fieldpath.Set{}
		}
	}
	for name, without := range twin {
		with := stored[name]
		if with == nil {
			with = &fieldpath.Set{}
		}
		with.Difference(without).Union(without.Difference(with)).Iterate(func(p fieldpath.Path) {
			if p[0].String() != ".metadata" && !o.words.name(p) && !o.broughtAlong(p) {
				found = append(found, finding{check: checkOwners, at: p.String(), text: fmt.Sprintf("%s: managed by %s with handoff: %t; warnings: %q", p, name, with.Has(p), o.warnings)})
			}
		})
	}
	return found
}

// chosen reports whether the API server allocates the value of a field, or clears it with the type of a Service. Both happen
// after admission.
func chosen(p fieldpath.Path) bool {
	last := p[len(p)-1].String()
	return last == ".deprecated.daemonset.template.generation" || last == ".nodePort" || last == ".healthCheckNodePort" || last == ".externalTrafficPolicy" || strings.Contains(p.String(), "clusterIP")
}

// halves checks the parents that exist only because of a kept field. Maps with arbitrary keys and resources are sets of
// independent values; in other parents, fields depend on each other.
func (o observation) halves() (found []finding) {
	if !o.compared() || o.words.more {
		return nil
	}
	free := []string{".labels", ".annotations", ".data", ".binaryData", ".nodeSelector", ".limits", ".requests", ".hard", ".matchLabels", ".resources"}
	for _, p := range o.words.kept {
		for i := 1; i < len(p); i++ {
			parent := p[:i]
			if _, inTwin := at(o.twin.Object, parent); inTwin || slices.Contains(free, parent[i-1].String()) {
				continue
			}
			was, _ := at(o.live.Object, parent)
			is, _ := at(o.stored.Object, parent)
			before, _ := was.(map[string]any)
			after, _ := is.(map[string]any)
			for name := range before {
				if _, ok := after[name]; !ok {
					found = append(found, finding{
						check: checkHalf, at: parent.String() + " without " + name,
						text: fmt.Sprintf("%s was %s, is %s; warnings: %q", parent, text(was), text(is), o.warnings),
					})
				}
			}
		}
	}
	return found
}

// defaulted reports whether a field exists only because the API server sets its default next to a kept field. This happens after
// the webhook and after managedFields are set, so that the field has no manager, or those that it had before.
func (o observation) defaulted(p fieldpath.Path) bool {
	_, inTwin := at(o.twin.Object, p)
	beside := slices.ContainsFunc(o.words.kept, func(kept fieldpath.Path) bool { return covers(kept[:len(kept)-1], p) })
	return !inTwin && len(o.words.kept) > 0 && (len(entrySetsOf(o.stored).by(p)) == 0 || beside && equal(o.live.Object, o.stored.Object, p))
}

// broughtAlong reports whether a field is in a parent that exists only because of a kept field.
func (o observation) broughtAlong(p fieldpath.Path) bool {
	return slices.ContainsFunc(o.words.kept, func(kept fieldpath.Path) bool {
		for i := 1; i < len(kept); i++ {
			if _, inTwin := at(o.twin.Object, kept[:i]); !inTwin {
				return covers(kept[:i], p)
			}
		}
		return false
	})
}

// elementGone reports whether a list element that contains the field is deleted without handoff.
func (o observation) elementGone(p fieldpath.Path) bool {
	for i, e := range p {
		if e.FieldName == nil {
			if _, ok := at(o.twin.Object, p[:i+1]); !ok {
				return true
			}
		}
	}
	return false
}

// controlled reports whether a controller rule contains the field, and a controller has written it: a manager that is neither an
// applier nor imperative.
func (o observation) controlled(p fieldpath.Path) bool {
	if !slices.ContainsFunc(o.rules, func(rule ownership.Pattern) bool { return rule.Matches(p) }) {
		return false
	}
	return slices.ContainsFunc(entrySetsOf(o.live).by(p), func(entry string) bool {
		return !strings.HasPrefix(entry, "kubectl") && !strings.HasSuffix(entry, "/Apply")
	})
}

func scale(p fieldpath.Path) bool { return p.String() == ".spec.replicas" }

func (o observation) removed() (found []finding) {
	if !o.compared() {
		return nil
	}
	for _, p := range o.schemas.leaves(o.base) {
		declared, _ := at(o.base, p)
		live, isLive := at(o.live.Object, p)
		if _, still := at(o.manifest, p); still || !isLive || !within(declared, live) || scale(p) || o.controlled(p) {
			continue
		}
		if isMore(declared, live) {
			continue // another manager has added to an atomic map
		}
		if equal(o.twin.Object, o.live.Object, p) || equal(o.stored.Object, o.twin.Object, p) {
			continue
		}
		got, _ := at(o.stored.Object, p)
		by := entrySetsOf(o.live).by(p)
		found = append(found, finding{
			check: checkRemoval, at: p.String(), cause: "managed by " + strings.Join(by, ", "),
			text: fmt.Sprintf("%s: still %s, in live managed by %v; warnings: %q", p, text(got), by, o.warnings),
		})
	}
	return found
}

// silent checks fields that another manager changed and the manifest drops, and fields of controller rules.
func (o observation) silent() (found []finding) {
	if !o.compared() || o.words.more {
		return nil
	}
	entrySets := entrySetsOf(o.live)
	for _, p := range o.schemas.leaves(o.live.Object) {
		if equal(o.live.Object, o.stored.Object, p) || o.words.name(p) || o.elementGone(p) || chosen(p) {
			continue
		}
		if !o.controlled(p) && (!o.drops(p) || !o.changed(p) || !others(entrySets.by(p), o.applier)) {
			continue
		}
		was, _ := at(o.live.Object, p)
		is, _ := at(o.stored.Object, p)
		found = append(found, finding{
			check: checkSilent, at: p.String(), cause: o.silence(p, entrySets.by(p)),
			text: fmt.Sprintf("%s: was %s, managed by %v; is %s; warnings: %q", p, text(was), entrySets.by(p), text(is), o.warnings),
		})
	}
	return found
}

// silence describes how a field was lost.
func (o observation) silence(p fieldpath.Path, by []string) string {
	_, declared := at(o.base, p)
	_, sets := at(o.manifest, p)
	return fmt.Sprintf("controlled: %t, in base: %t, in the manifest: %t, managed by %s", o.controlled(p), declared, sets, strings.Join(by, ", "))
}

// isMore reports whether a live value has more members than the manifest declares, at any depth.
func isMore(declared, live any) bool {
	switch said := declared.(type) {
	case map[string]any:
		is, ok := live.(map[string]any)
		more := ok && len(is) > len(said)
		for name := range said {
			more = more || ok && isMore(said[name], is[name])
		}
		return more
	case []any:
		is, ok := live.([]any)
		for i := range said {
			if ok && i < len(is) && isMore(said[i], is[i]) {
				return true
			}
		}
		return false
	default:
		return false
	}
}

// drops reports whether the base has a field or a parent of it that is missing from the manifest. The stringData of a Secret's
// manifest counts as data.
func (o observation) drops(p fieldpath.Path) bool {
	if _, sets := at(o.manifest, append(fieldpath.MakePathOrDie("stringData"), p[1:]...)); sets && p[0].FieldName != nil && *p[0].FieldName == "data" {
		return false
	}
	for i := 1; i <= len(p); i++ {
		value, now := at(o.manifest, p[:i])
		if now && value == nil {
			return false // the manifest sets null
		}
		if _, before := at(o.base, p[:i]); !now {
			return before
		}
	}
	return false
}

// says reports whether the manifest has a field, or null for a parent of it.
func (o observation) says(p fieldpath.Path) bool {
	for i := 1; i <= len(p); i++ {
		if value, now := at(o.manifest, p[:i]); !now {
			return false
		} else if value == nil {
			return true
		}
	}
	return true
}

// changed reports whether the live value differs from the last manifest's.
func (o observation) changed(p fieldpath.Path) bool {
	declared, ok := at(o.base, p)
	live, _ := at(o.live.Object, p)
	return !ok || !within(declared, live)
}

// others reports whether users or controllers manage a field and the applier does not. If the applier manages it too, nobody has
// changed its value.
func others(entries []string, applier string) bool {
	return !slices.Contains(entries, applier) && slices.ContainsFunc(entries, func(entry string) bool {
		return !strings.HasPrefix(entry, clientSide) && !strings.HasSuffix(entry, "/Apply")
	})
}

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
