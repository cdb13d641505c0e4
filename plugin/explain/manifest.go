package explain

import (
	"fmt"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// manifest returns what the manifest declares about a field, and what an apply would do.
func (e Explanation) manifest(f *ownership.Field) []string {
	applier := e.applier.Manager
	notSet := fmt.Sprintf("the manifest of %#q does not set it", applier)
	if e.mayHaveLost(f) {
		notSet = fmt.Sprintf("whether the manifest of %#q sets it is not recorded: another manager has set it since", applier)
	}
	switch {
	case e.applied(f).Manager != "" && f.Declared == ownership.Lacks:
		return e.serverSide(f)
	case e.recorded:
		return e.clientSide(f)
	case e.declared(f) == "?" && !e.mayHaveLost(f):
		return []string{"the manifest is not recorded"}
	case applier != "" && f.Owner.Kind != ownership.Default && f.Owner.Kind != ownership.Unknown:
		forced := "an apply that sets another value would conflict, and with --force-conflicts would set it"
		return []string{notSet, forced + e.kept(f, ownership.Sets, ownership.Lacks)}
	case applier != "":
		return []string{notSet}
	default:
		return []string{"no manifest is recorded"}
	}
}

// clientSide describes a field by the last-applied annotation. It describes an apply of the last-applied manifest or, if that
// would change nothing, of one without the field.
func (e Explanation) clientSide(f *ownership.Field) []string {
	switch {
	case f.Declared == ownership.Clears:
		clears := "an apply would clear it" + e.kept(f, ownership.Clears, ownership.Clears)
		return []string{"the last-applied manifest sets null", clears}
	case f.DeclaredValue != nil:
		value := table.Shorten(e.Subject.Show(f.Path, f.DeclaredValue), 2*maxValueLen)
		sets := "an apply would set " + value + e.kept(f, ownership.Sets, ownership.Sets)
		return []string{"the last-applied manifest sets " + value, sets}
	case f.Declared == ownership.Sets:
		deletes := withoutField + "delete it" + e.kept(f, ownership.Lacks, ownership.Sets)
		return []string{"the last-applied manifest sets the same value", deletes}
	default:
		return []string{"the last-applied manifest does not set it", "an apply would not change it"}
	}
}

const withoutField = "an apply without the field would "

func (e Explanation) serverSide(f *ownership.Field) []string {
	var parts []string
	if applier := e.applied(f).Manager; f.Owner.Kind != ownership.Manifest || f.Owner.By != applier {
		parts = append(parts, fmt.Sprintf("the manifest of %#q sets it", applier))
	}
	if len(f.Entries) > 1 {
		return append(parts, withoutField+"not delete it, because other managers also manage it")
	}
	return append(parts, withoutField+"delete it"+e.kept(f, ownership.Lacks, ownership.Sets))
}

// kept returns how handoff would respond to an apply that changes a field, or "" if it would not keep the field.
func (e Explanation) kept(f *ownership.Field, manifest, base ownership.Declaration) string {
	if !e.Keeps(f, manifest, base) {
		return ""
	}
	return fmt.Sprintf(" (handoff: keeps %s)", e.Subject.Show(f.Path, f.Value))
}

// Keeps reports whether handoff, in mode enforce, would keep a field that an apply changes. Manifest and base are how the
// incoming and the last-applied manifest declare it. A field with an unknown owner is not kept.
func (e Explanation) Keeps(f *ownership.Field, manifest, base ownership.Declaration) bool {
	if f.Owner.Kind == ownership.Unknown || f.Value == nil {
		return false
	}
	declared := ownership.Declared{Manifest: manifest, Base: base}
	kind, isScale := e.Subject.Kind.GroupKind(), e.Subject.Context.IsScale(f.Path)
	return merge.LookupApply(f.Owner.Kind, declared, kind, f.Path, isScale).Verdict == merge.Keep
}
