package explain

import (
	"fmt"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/merge"
	"github.com/ownership-handoff/handoff/ownership"
)

// manifest says what the manifest says about a field, and what an apply would do.
func (e Explanation) manifest(f *ownership.Field) []string {
	switch {
	case e.applied(f) != "" && f.Declared == ownership.Lacks:
		return e.serverSide(f)
	case e.recorded:
		return e.clientSide(f)
	case e.declared(f) == "?":
		return []string{"what the manifest says is not recorded"}
	case e.applier != "" && f.Owner != ownership.Default && f.Owner != ownership.Unknown:
		claimed := fmt.Sprintf("the manifest of %#q does not claim it", e.applier)
		forced := "an apply that sets another value would be refused as a conflict, and with --force-conflicts set it"
		return []string{claimed, forced + e.kept(f, ownership.Sets, ownership.Lacks)}
	case e.applier != "":
		return []string{fmt.Sprintf("the manifest of %#q does not claim it", e.applier)}
	default:
		return []string{"no manifest is recorded"}
	}
}

// clientSide goes by the last-applied annotation. What an apply would do is asked of the manifest as it was applied last,
// and where that changes nothing, of one without the field.
func (e Explanation) clientSide(f *ownership.Field) []string {
	switch {
	case f.Declared == ownership.Clears:
		return []string{"the manifest last said null", "an apply would clear it" + e.kept(f, ownership.Clears, ownership.Clears)}
	case f.DeclaredValue != nil:
		value := table.Shorten(e.Show(f.Path, f.DeclaredValue), 2*mostValue)
		return []string{"the manifest last said " + value, "an apply would set " + value + e.kept(f, ownership.Sets, ownership.Sets)}
	case f.Declared == ownership.Sets:
		deletes := "an apply without it would delete it" + e.kept(f, ownership.Lacks, ownership.Sets)
		return []string{"the manifest says the same", deletes}
	default:
		return []string{"the manifest does not set it", "an apply would leave it"}
	}
}

func (e Explanation) serverSide(f *ownership.Field) []string {
	var says []string
	if applier := e.applied(f); f.Owner != ownership.Manifest || f.By != applier {
		says = append(says, fmt.Sprintf("the manifest of %#q sets it", applier))
	}
	if len(f.Holders) > 1 {
		return append(says, "an apply without it would leave it, for others claim it as well")
	}
	return append(says, "an apply without it would delete it"+e.kept(f, ownership.Lacks, ownership.Sets))
}

// kept says what handoff would do about an apply that changes a field; empty where it would let that through.
func (e Explanation) kept(f *ownership.Field, manifest, base ownership.Claim) string {
	if !e.Keeps(f, manifest, base) {
		return ""
	}
	return fmt.Sprintf(" (handoff: keeps %s)", e.Show(f.Path, f.Value))
}

// Keeps says whether handoff would keep a field from an apply that changes it, where it is in mode enforce: manifest and
// base are what the manifest applied then and the one applied before say about the field. No decision is made on what is
// not known.
func (e Explanation) Keeps(f *ownership.Field, manifest, base ownership.Claim) bool {
	if f.Owner == ownership.Unknown || f.Value == nil {
		return false
	}
	decision := merge.Lookup(merge.Field{
		Owner: f.Owner.Decided(), Writer: ownership.Applier, Manifest: manifest, Base: base, Changed: true,
		Scale: e.Context.Scale != nil && f.Path.Equals(e.Context.Scale),
	})
	return decision.Verdict == merge.Keep
}
