package merge

import "github.com/ownership-handoff/handoff/ownership"

// Verdict is what becomes of a field of the incoming object.
type Verdict int

// The verdicts.
const (
	// Through lets the incoming value stand.
	Through Verdict = iota
	// Warn lets the incoming value stand and tells the writer that the field's owner may undo it.
	Warn
	// Keep puts the live value and the live claims back, and takes the field out of the recorded last-applied.
	Keep
)

// Field is a field that a write has a say in, as the decision table sees it.
type Field struct {
	Owner  ownership.Owner
	Writer ownership.Writer
	// Manifest and Base are what the manifest applied now and the one applied before say about the field.
	Manifest, Base ownership.Claim
	// Changed says that the write changes the field's value.
	Changed bool
	// Scale says that it is the object's scale field.
	Scale bool
}

// Decision is a row of the decision table and its verdict.
type Decision struct {
	// Row is the row's number in docs/decisions.md.
	Row     int
	Verdict Verdict
}

// Decide looks a field up in the decision table of docs/decisions.md. Rows 7 and 12 are not in it: they concern fields
// and writes that never come here. Row 11 concerns requests that are never intercepted.
func Decide(f Field) Decision {
	held := f.Owner == ownership.Autoscaler || f.Owner == ownership.Controller
	// A write that replaces the whole object takes away what its manifest lacks even where the base lacks it as well.
	letGo := f.Manifest == ownership.Lacks && (f.Base != ownership.Lacks || f.Changed)
	switch {
	case f.Writer == ownership.ImperativeWriter && f.Owner == ownership.Autoscaler:
		return Decision{9, Warn}
	case f.Writer == ownership.ImperativeWriter:
		return Decision{9, Through}
	case f.Writer != ownership.Applier:
		return Decision{10, Through}

	case held && f.Manifest == ownership.Clears:
		return Decision{8, Keep}
	case f.Manifest == ownership.Clears:
		return Decision{8, Through}
	case held && f.Manifest == ownership.Sets:
		return Decision{1, Keep}
	case held && letGo:
		return Decision{2, Keep}

	case f.Owner == ownership.Imperative && letGo:
		return Decision{3, Keep}
	case f.Owner == ownership.Manifest && letGo && f.Scale:
		return Decision{4, Keep}
	case f.Owner == ownership.Manifest && letGo:
		return Decision{5, Through}
	case f.Owner != ownership.Manifest && f.Manifest == ownership.Sets:
		return Decision{6, Through}
	default:
		return Decision{0, Through} // the manifest's own field, or one that it never had a say in
	}
}

// String returns the verdict as logs write it.
func (v Verdict) String() string {
	switch v {
	case Warn:
		return "warn"
	case Keep:
		return "keep"
	default:
		return "through"
	}
}
