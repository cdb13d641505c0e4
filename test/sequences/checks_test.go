package sequences_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/test/ledger"
)

// The checks, in order.
const (
	checkOpen     = "the webhook does not fail open"
	checkRefused  = "a write that the API server accepts is accepted with handoff, unless it refuses a kept field that a warning names"
	checkAccepted = "a write that the API server refuses is refused with handoff, unless a stale default is cleared or a field is kept"
	checkUnnamed  = "a field that no warning names is the same as without handoff"
	checkLedger   = "a field is kept if and only if the ledger keeps it"
	checkBooks    = "a kept field has the value and the managers of the ledger, and is not in last-applied"
	checkEntries  = "managedFields is the same as without handoff, apart from the named fields and their parents"
	checkKept     = "the entries of a kept field are those that it had, apart from the entry of the sender's own server-side apply"
	checkRecord   = "last-applied is the same as without handoff, apart from the named fields and their parents"
	checkRemoved  = "a field that a warning names as removed is removed"
	checkMerged   = "an apply without handoff stores what threeway.Merge returns"
)

// finding is a violation of a check by a write.
type finding struct{ check, at, text string }

// class returns a text that is the same for findings with the same likely cause.
func (f finding) class() string { return f.check + ": " + general(f.at) }

var (
	templatePrefix = regexp.MustCompile(`(^|\s)\.?(spec\.jobTemplate\.spec\.template|spec\.template|template)\b`)
	brackets       = regexp.MustCompile(`\[[^\]]*\]`)
	numbers        = regexp.MustCompile(`\d+`)
	longRun        = regexp.MustCompile(`x{40,}|y{40,}|z{40,}`)
	immutable      = regexp.MustCompile(`([\w.]+): Invalid value: [^\n]*field is immutable`)
)

func general(text string) string {
	return numbers.ReplaceAllString(brackets.ReplaceAllString(templatePrefix.ReplaceAllString(text, "${1}~"), "[]"), "N")
}

// observation is a write to the two objects of a sequence.
type observation struct {
	kind *kind
	step step
	// decided is what the ledger expects of the write, and unlike how the opted object differs from it in kept fields.
	decided ledger.Outcomes
	unlike  []string
	// before is the opted object before the write; it is empty if the write creates the object.
	before         stored
	opted, twin    stored
	answer         answer
	twinErr        error
	twinUnsent     bool
	named, cleared []string // see names
}

func (o *observation) check() (found []finding) {
	report := func(check, at, format string, args ...any) {
		found = append(found, finding{check, at, short(fmt.Sprintf(format, args...)) + fmt.Sprintf("\n  warnings: %q", o.answer.warnings)})
	}
	for _, warning := range o.answer.warnings {
		unreadable := declaredIn(o.before.base) == nil || declaredIn(o.opted.base) == nil
		if strings.HasPrefix(warning, "handoff: skipped, ") && (!unreadable || strings.HasSuffix(warning, ": the write was not modified")) {
			report(checkOpen, warning, "%s", warning)
		}
	}
	o.named, o.cleared = o.names("kept|started with"), o.names("cleared")
	switch refused := o.answer.err; {
	case refused != nil && o.twinErr == nil:
		if !slices.ContainsFunc(o.named, func(name string) bool { return o.keeps(name) && mentions(refused, name) }) {
			report(checkRefused, rule(refused), "%v", refused)
		}
	case refused == nil && o.twinErr != nil:
		keeps := func(name string) bool { return o.keeps(name) && (mentions(o.twinErr, name) || isPanic(o.twinErr)) }
		// With the patch of any webhook, the API server takes an empty map for a missing one.
		isEmptied := len(o.named) > 0 && strings.Contains(o.twinErr.Error(), "field is immutable when `immutable` is set")
		isHidden := o.kind.Kind == "Service" && strings.Contains(o.twinErr.Error(), hiddenField)
		if len(o.cleared) == 0 && !slices.ContainsFunc(o.named, keeps) && !isEmptied && !isHidden {
			report(checkAccepted, rule(o.twinErr), "%v", o.twinErr)
		}
	case refused == nil:
		o.same(report)
	}
	return found
}

// same checks the difference to the twin, which the write has made.
func (o *observation) same(report func(check, at, format string, args ...any)) {
	d := compare(o.opted, o.twin)
	fields := cluster.reader.Fields(o.opted.object, o.before.object, o.twin.object)
	named := append(slices.Clone(o.named), o.cleared...)
	if d.other != "" {
		report(checkUnnamed, "", "%s", d.other)
	}
	for _, p := range d.values {
		is, was, without := text(fields[0][p]), text(fields[1][p]), text(fields[2][p])
		switch {
		case len(o.named) > 0 && o.isDefault(p), o.isHidden(p, fields[0], fields[1]): // it depends on a kept field, or the twin lacked it
		case !related(named, p):
			report(checkUnnamed, p, "%s: is %s, was %s, without handoff %s", p, is, was, without)
		case related(o.cleared, p), isDerived(named, p):
		case !o.keeps(p):
			report(checkLedger, p, "%s: is %s, was %s, without handoff %s; base %s", p, is, was, without, o.before.base)
		}
	}
	for _, p := range d.entries {
		// If the write changes last-applied only in kept fields, it changes nothing.
		unchanged := strings.HasPrefix(annotation, strings.TrimSpace(p[strings.IndexByte(p, ' '):])) && len(d.base) > 0 && o.opted.base == o.before.base
		if entry, path, _ := strings.Cut(p, " ."); !related(named, "."+path) && !unchanged && !o.isHidden("."+path, fields[0], fields[1]) {
			report(checkEntries, "."+path, "%s .%s: %s", entry, path, o.managedIn(entry, "."+path))
		}
	}
	for _, p := range d.base {
		if declared := cluster.reader.Fields(declaredIn(o.opted.base))[0]; !related(named, p) || text(declared[p]) == "{}" {
			report(checkRecord, p, "%s: is %s, without handoff %s", p, o.opted.base, o.twin.base)
		}
	}
	for _, p := range o.named {
		o.entriesOf(p, report)
	}
	for _, line := range o.unlike {
		path, rest, _ := strings.Cut(line, ": ")
		isExplained := o.isTakeover() || o.isMigrated() && strings.HasPrefix(rest, "want the managers")
		if !slices.ContainsFunc(o.answer.warnings, isCut) && !isExplained {
			report(checkBooks, path, "%s; base %s", line, o.before.base)
		}
	}
	for _, warning := range o.answer.warnings {
		names := o.namesIn(warning, "removed") // several if the front is cut
		if len(names) > 0 && !slices.ContainsFunc(names, func(p string) bool { return o.isRemoved(p, fields) }) {
			report(checkRemoved, names[0], "%s is still %s", names[0], text(fields[1][names[0]]))
		}
	}
}

// isTakeover reports whether a server-side apply changes nothing but last-applied and managedFields, and is not modified (docs/limits.md).
func (o *observation) isTakeover() bool {
	without, made := compare(o.before, o.twin), compare(o.opted, o.twin)
	isValue := func(p string) bool { return !within(p, annotation) }
	return o.step.verb == serverApply && len(without.entries) > 0 && !slices.ContainsFunc(without.values, isValue) &&
		len(made.values)+len(made.entries)+len(made.base) == 0
}

// isMigrated reports whether kubectl has moved the fields of the manager of last-applied to the entry of its server-side apply.
func (o *observation) isMigrated() bool {
	at := fieldpath.MakePathOrDie("metadata", "annotations", lastApplied)
	return o.answer.command == serverApply && slices.ContainsFunc(slices.Collect(maps.Keys(o.before.entries)), func(entry string) bool {
		return o.opted.entries[entry] == nil && o.before.entries[entry].Has(at)
	})
}

// isCut reports whether a warning only counts the fields that it is about.
func isCut(warning string) bool { return strings.HasSuffix(warning, "more fields") }

// keeps reports whether the ledger keeps a field or one in it, or does not know.
func (o *observation) keeps(p string) bool {
	return related(slices.Collect(maps.Keys(o.decided)), p)
}

// isHidden reports whether no read of the object returns a field that is stored, so that a twin cannot be made with it
// (defaultOnReadInternalTrafficPolicy in k8s.io/kubernetes/pkg/registry/core/service/storage).
func (o *observation) isHidden(p string, is, was ledger.Values) bool {
	return o.kind.Kind == "Service" && p == hiddenField && (is[".spec.type"] == "ExternalName" || was[".spec.type"] == "ExternalName")
}

// isRemoved reports whether the write has removed the value of a field. The API server itself sets some fields of Services again, and
// the defaults beside a kept field whose parent comes back. fields are those of the object after the write and before it.
func (o *observation) isRemoved(p string, fields []ledger.Values) bool {
	comesBack := slices.ContainsFunc(o.named, func(name string) bool {
		return slices.ContainsFunc(parentsOf(name), func(parent string) bool { return within(p, parent) && parent != p })
	})
	was := text(fields[1][p])
	return was == "null" || was != text(fields[0][p]) || o.kind.Kind == "Service" || comesBack && o.isDefault(p)
}

// isDefault reports whether nobody manages a field. Entries can have the parents of kept fields without what was in them.
func (o *observation) isDefault(p string) bool {
	for _, s := range []stored{o.opted, o.twin} {
		for _, set := range s.entries {
			if slices.ContainsFunc(paths("", set.Leaves()), func(q string) bool {
				return within(q[1:], p) || within(p, q[1:]) && !related(o.named, q[1:])
			}) {
				return false
			}
		}
	}
	return true
}

// entriesOf checks that all entries contain at a kept path what they contained before.
func (o *observation) entriesOf(p string, report func(check, at, format string, args ...any)) {
	own := ""
	if o.step.verb == serverApply {
		own = o.step.by + "|Apply|"
	}
	if o.before.object == nil {
		return
	}
	for entry := range o.opted.entries {
		before := o.before.entries[entry]
		for _, q := range paths(entry, symmetric(before, o.opted.entries[entry])) {
			if _, path, _ := strings.Cut(q, " ."); within("."+path, p) && (own == "" || !strings.HasPrefix(entry, own)) {
				report(checkKept, "."+path, "%s: %s", q, o.managedIn(entry, "."+path))
			}
		}
	}
}

// managedIn describes in which objects an entry contains a path.
func (o *observation) managedIn(entry, path string) string {
	has := func(s stored) bool { return slices.Contains(paths("", symmetric(nil, s.entries[entry])), " "+path) }
	return fmt.Sprintf("in the entry: %t, before: %t, without handoff: %t", has(o.opted), has(o.before), has(o.twin))
}

// parentsOf returns the parents of a field within its list element, without .spec and that of a pod template.
func parentsOf(p string) (parents []string) {
	for i := strings.LastIndexAny(p, ".["); i > 0; i = strings.LastIndexAny(p, ".[") {
		if p = p[:i]; strings.HasSuffix(p, "]") || strings.HasSuffix(p, ".spec") {
			break
		}
		parents = append(parents, p)
	}
	return parents
}

var warningForm = regexp.MustCompile(`^handoff: ([a-z ]+?) (\.\S.*)$`)

// names returns the paths that the warnings with a verb begin with. A path whose front is cut becomes all paths with that end.
func (o *observation) names(verbs string) (all []string) {
	for _, warning := range o.answer.warnings {
		all = append(all, o.namesIn(warning, verbs)...)
	}
	return all
}

// namesIn is names for one warning.
func (o *observation) namesIn(warning, verbs string) (all []string) {
	form := warningForm.FindStringSubmatch(warning)
	if len(form) < 2 || !slices.Contains(strings.Split(verbs, "|"), form[1]) {
		return nil
	}
	depth, end := 0, len(form[2])
	if shut, open := strings.IndexByte(form[2], ']'), strings.IndexByte(form[2], '['); shut >= 0 && (open < 0 || shut < open) {
		depth = 1 // the front is cut within brackets
	}
	for i, c := range form[2] {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0 && strings.ContainsRune(" =,;", c):
			end = min(end, i)
		}
	}
	name := strings.TrimSuffix(form[2][:end], "...")
	cut, isCut := strings.CutPrefix(name, "...")
	if !isCut {
		return []string{name}
	}
	for _, object := range []map[string]any{o.before.object, o.opted.object, o.twin.object} { // one may have two elements with one key
		for p := range cluster.reader.Fields(object)[0] {
			if i := strings.LastIndex(p, cut); i > 0 && within(p, p[:i+len(cut)]) {
				all = append(all, p[:i+len(cut)])
			}
		}
	}
	return all
}

// related reports whether one of the names is the path, an ancestor of it or nested under it, or whether the API server derives the
// path from it, as the other name of the service account.
func related(names []string, p string) bool {
	return isDerived(names, p) || slices.ContainsFunc(names, func(name string) bool {
		return within(p, name) || within(name, p) || strings.HasSuffix(p, ".serviceAccount") && within(p+"Name", name)
	})
}

// derived are the fields whose defaults the API server derives from others: of a Service, of a Job and of a ReplicationController.
var derived = map[string]string{
	".spec.sessionAffinityConfig": ".spec.sessionAffinity",
	".spec.completions":           ".spec.parallelism",
	".metadata.labels":            ".spec.template.metadata.labels",
}

// isDerived reports whether the API server derives a path from one of the names.
func isDerived(names []string, p string) bool {
	for to, from := range derived {
		if within(p, to) && slices.ContainsFunc(names, func(name string) bool { return within(name, from) }) {
			return true
		}
	}
	return false
}

// mentions reports whether an error contains the name of a field on a path, apart from the first two, or of one derived from it, or is about
// the immutable field that it is in: its text has the new value, in which a removed field is not.
func mentions(err error, path string) bool {
	if m := immutable.FindStringSubmatch(err.Error()); len(m) > 1 && strings.HasPrefix(path, "."+m[1]+".") {
		return true
	}
	for to, from := range derived {
		if path == from && strings.Contains(err.Error(), to[1:]) {
			return true
		}
	}
	text := strings.ToLower(err.Error())
	all := strings.FieldsFunc(brackets.ReplaceAllString(path, ""), func(c rune) bool { return c == '.' })
	return slices.ContainsFunc(all[min(1, len(all)-1):], func(name string) bool {
		return name != "template" && name != "spec" && name != "containers" && strings.Contains(text, strings.ToLower(name))
	}) || apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(text, "too long: may not be more than") // the whole object
}

const (
	hiddenField = ".spec.internalTrafficPolicy" // of a Service that was an ExternalName (isHidden)

	scaleField = ".spec.replicas" // of all kinds of the grammar
	annotation = ".metadata.annotations." + lastApplied
)

// rule returns the general part of an error, without values.
func rule(err error) string {
	text := err.Error()
	for _, cut := range []string{"is invalid: ", "denied request: ", "conflicts with ", "Error from server"} {
		if _, after, ok := strings.Cut(text, cut); ok {
			text = after
		}
	}
	if list := strings.SplitN(text, `"`, 3); len(list) == 3 {
		text = list[0] + list[2]
	}
	return text[:min(len(text), 120)]
}
