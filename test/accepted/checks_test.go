package accepted_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
