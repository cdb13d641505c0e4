package explain

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// HandoverManager is the field manager to which kubectl handoff release transfers a custom resource's field from an applier,
// until the autoscaler or controller that owns the field writes it
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership).
const HandoverManager = "ownership-handoff"

// Sentences writes why the fields have their values: one sentence for each field, or for each subtree with a single owner.
// Each begins with the prefix.
func (e Explanation) Sentences(w io.Writer, prefix string, chosen func(ownership.Owner) bool) error {
	folds := e.folds(chosen)
	lines := make([]string, len(folds))
	for i := range folds {
		lines[i] = prefix + strings.Join(e.sentence(&folds[i]), "; ")
	}
	return table.Lines(w, lines...)
}

// sentence returns the clauses about a field, or about several fields of one owner.
func (e Explanation) sentence(all *fold) []string {
	f := &all.fields[0]
	if len(all.fields) > 1 {
		has := fmt.Sprintf("%#q has %d fields: %s", cmp.Or(Text(all.path), "-"), len(all.fields), e.who(f, "them"))
		return []string{has, "in the manifest: " + e.declaredOf(all.fields)}
	}
	is := fmt.Sprintf("%#q is %s", Text(f.Path), table.Shorten(e.Subject.Show(f.Path, f.Value), 2*maxValueLen))
	if f.Value == nil {
		is = fmt.Sprintf("%#q no longer exists, but is still in managedFields", Text(f.Path))
	}
	clauses := []string{is + ": " + e.who(f, "it")}
	if apitypes.InStatus(f.Path) {
		return append(clauses, "an apply does not set status")
	}
	clauses = append(clauses, e.manifest(f)...)
	for _, rule := range e.Subject.Context.Managers.RulesInside(f.Path, f.Entries) {
		clauses = append(clauses, fmt.Sprintf("handoff keeps what rule %#q names inside it", rule.Name))
	}
	return clauses
}

// who returns who set a field last, how and when, and the scaler that owns the field if it did not set it.
func (e Explanation) who(f *ownership.OwnedField, it string) string {
	owner, managers := f.Owner, e.Subject.Context.Managers
	var last ownership.Entry
	if len(f.Entries) > 0 {
		last = f.Entries[0]
	}
	kind, name, isScaler := owner.Object()
	scaler := fmt.Sprintf("%s %#q", kind, name)
	setter := ownership.Other
	switch {
	case owner.Kind == ownership.Unknown:
		return "its manager is not recorded"
	case owner.Kind == ownership.Default:
		return "the API server set " + it + " by default"
	case !isScaler:
		text := setBy(owner.Kind, owner.By, it) + through(last, f.Since)
		switch {
		case owner.Rule == ownership.ControllerFieldsAnnotation:
			text += ", and owns it by the annotation controller-fields"
		case owner.Rule != "":
			text += fmt.Sprintf(", and owns it by rule %#q", owner.Rule)
		}
		return text
	case e.Subject.Scaled != "" && isUnset(last):
		return scaler + " owns " + it + ", and last scaled the object at " + e.Subject.Scaled
	case isUnset(last):
		return scaler + " owns " + it + ", and who set it last is not recorded"
	case managers.IsApplier(last):
		setter = ownership.Manifest
	case managers.IsImperative(last):
		setter = ownership.Imperative
	case last.Subresource != "":
		return scaler + " set " + it + through(last, f.Since)
	}
	return setBy(setter, last.Manager, it) + through(last, last.Time) + ", but " + scaler + " owns " + it
}

// setBy returns which manager set a field.
func setBy(setter ownership.Owner, name, it string) string {
	switch {
	case setter == ownership.Autoscaler:
		return fmt.Sprintf("the autoscaler %#q set %s", name, it)
	case setter == ownership.Controller && name == "":
		return "a controller set " + it
	case setter == ownership.Controller:
		return fmt.Sprintf("the controller %#q set %s", name, it)
	case setter == ownership.Imperative:
		return fmt.Sprintf("a user set %s with an imperative command (%#q)", it, name)
	case setter == ownership.Other:
		return fmt.Sprintf("%#q, a manager that the configuration does not list, set %s", name, it)
	case name == "":
		return "the manifest set " + it
	default:
		return fmt.Sprintf("the manifest set %s (%#q)", it, name)
	}
}

// isUnset reports whether an entry does not show who set a field that a scaler owns.
func isUnset(last ownership.Entry) bool { return last.Manager == "" || last.Manager == HandoverManager }

// through returns through which subresource, and when, a field was set.
func through(last ownership.Entry, since string) (text string) {
	if last.Subresource != "" {
		text = " through /" + last.Subresource
	}
	if since != "" {
		text += " at " + since
	}
	return text
}

// manifest returns what the manifest declares about a field, and what an apply would do: of the same manifest or, if that would
// change nothing, of the manifest without the field.
func (e Explanation) manifest(f *ownership.OwnedField) []string {
	applier, recorded := e.Declarer(f)
	lost := e.MayBeLost(f)
	without := "an apply without the field would delete it" + e.kept(f, ownership.Lacks, ownership.Sets)
	switch {
	case f.Declared == ownership.Clears:
		return []string{"the last-applied manifest sets null", "an apply would clear it" + e.kept(f, ownership.Clears, ownership.Clears)}
	case f.DeclaredValue != nil:
		sets := table.Shorten(e.Subject.Show(f.Path, f.DeclaredValue), 2*maxValueLen)
		would := "an apply would set " + sets + e.kept(f, ownership.Sets, ownership.Sets)
		if e.Subject.Context.Managers.IsEditable(f.Path, f.Owner) {
			would += "; a manifest with another value than before wins"
		}
		return []string{"the last-applied manifest sets " + sets, would}
	case f.Declared == ownership.Sets:
		return []string{"the last-applied manifest sets the same value", without}
	case recorded: // by managedFields
		if len(f.Entries) > 1 {
			without = "an apply without the field would not delete it, because other managers also manage it"
		}
		if f.Owner.Kind == ownership.Manifest && f.Owner.By == applier {
			return []string{without}
		}
		return []string{fmt.Sprintf("the manifest of %#q sets it", applier), without}
	case e.Record.LastApplied != nil:
		would := "an apply would not change it"
		if f.Owner.Kind != ownership.Default && f.Value != nil && e.changes()(f.Path) {
			would = "an apply would change it nevertheless: kubectl replaces what contains it"
		}
		return []string{"the last-applied manifest does not set it", would}
	case len(e.Record.Applies) == 0 || applier != "" && !lost:
		return []string{"no manifest is recorded"}
	}
	says := "the manifest of %#q does not set it"
	if lost {
		says = "whether the manifest of %#q sets it is not recorded: another manager has taken it over"
	}
	parts := []string{fmt.Sprintf(says, e.Record.Applies[0].Manager)}
	if f.Owner.Kind != ownership.Default && f.Owner.Kind != ownership.Unknown {
		parts = append(parts, "an apply that sets another value would conflict, and with --force-conflicts would set it"+
			e.kept(f, ownership.Sets, ownership.Lacks))
	}
	return parts
}

// kept returns how handoff would respond to an apply that changes a field, or "" if it would not keep the field.
func (e Explanation) kept(f *ownership.OwnedField, manifest, base ownership.Declaration) string {
	if !e.Keeps(f, manifest, base) {
		return ""
	}
	return fmt.Sprintf(" (handoff: keeps %s)", e.Subject.Show(f.Path, f.Value))
}

// Keeps reports whether handoff, in mode enforce, would keep a field that an apply changes. Manifest and base are how the
// incoming and the last-applied manifest declare it. A field with an unknown owner is not kept. A manifest that lacks the field sets the
// rest of its unit as before.
func (e Explanation) Keeps(f *ownership.OwnedField, manifest, base ownership.Declaration) bool {
	if f.Owner.Kind == ownership.Unknown || f.Value == nil {
		return false
	}
	declared := ownership.Declared{Manifest: manifest, Base: base}
	kind, isScale := e.Subject.Kind.GroupKind(), e.Subject.Context.IsScale(f.Path)
	if manifest == ownership.Lacks && f.Owner.Kind.Decided() == ownership.Imperative && e.setsRestOfUnit(f.Path) {
		declared.Manifest = ownership.Sets
	}
	return merge.LookupApply(e.Subject.Object, kind, f.Path, f.Owner.Kind, declared, isScale).Verdict == merge.Keep
}

// setsRestOfUnit reports whether the last-applied manifest sets more than the field in the unit to which the field belongs.
func (e Explanation) setsRestOfUnit(path fieldpath.Path) bool {
	unit, _, isUnit := e.Subject.Object.UnitOf(e.Subject.Kind.GroupKind(), path)
	if !isUnit || len(unit) == len(path) {
		return false
	}
	rest := jsontree.Valid(e.Record.LastApplied.Find(unit).Text()) // a copy
	rest.Cut(path[len(unit):], func(fieldpath.Path) bool { return true })
	return !apitypes.SetsNothing(jsontree.Valid(rest.Remaining()))
}
