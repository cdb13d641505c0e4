package merge

import (
	"slices"

	"github.com/ownership-handoff/handoff/ownership"
)

// Verdict is what becomes of a field of the incoming object.
type Verdict int

// The verdicts.
const (
	// Through lets the incoming value stand.
	Through Verdict = iota
	// Warn lets the incoming value stand and tells the writer that the field's owner may undo it.
	Warn
	// Start gives a new object the autoscaler's count.
	Start
	// Keep puts the live value and the live claims back, and takes the field out of the recorded last-applied.
	Keep
	// Clear takes the field out of the incoming object, and everybody's claim on it.
	Clear
	// Yield lets the incoming value stand although a row says Keep: see Rewritten.Overruled.
	Yield
)

// Field is a field that a write has a say in, as the decision table sees it.
type Field struct {
	// Owner is whose the field is in live, Writer for whom the write speaks.
	Owner  ownership.Owner
	Writer ownership.Writer
	// Manifest and Base are what the manifest applied now and the one applied before say about the field.
	Manifest, Base ownership.Claim
	// Changed says that the write changes the field's value or, for a new object, that the autoscaler wants more.
	Changed bool
	// Removed reports whether the write takes the field away although neither manifest has it, as a replace of the whole
	// object does.
	Removed bool
	// Created says that the write creates the object, SwitchedOff that the manifest does so with a count of 0.
	Created, SwitchedOff bool
	// Scale says that it is the object's scale field.
	Scale bool
	// Contradicted says that it is a member of a union that another choice of the manifest excludes.
	Contradicted bool
}

// Decision is a row of the decision table and its verdict.
type Decision struct {
	// Row is the row's number in docs/decisions.md, 0 where no row fits.
	Row     int
	Verdict Verdict
}

// says is what an applier's manifest says about a field, beside the base.
type says int

const (
	anything says = iota
	setsIt        // the manifest gives it a value
	letsGo        // the manifest lacks it and the base has it
	setsNull      // the manifest says null
	lacksIt       // neither has it
)

// row is a row of the decision table. No owners means any owner.
type row struct {
	number           int
	owners           []ownership.Owner
	writer           ownership.Writer
	manifest         says
	scaleOnly        bool
	contradictedOnly bool
	created          bool
	verdict          Verdict
}

// table is the decision table of docs/decisions.md, in its order. Row 11 is not in it: it concerns requests that are never
// intercepted.
func table() []row {
	held := []ownership.Owner{ownership.Autoscaler, ownership.Controller}
	manifest := []ownership.Owner{ownership.Manifest}
	return []row{
		{number: 1, owners: held, writer: ownership.Applier, manifest: setsIt, verdict: Keep},
		{number: 2, owners: held, writer: ownership.Applier, manifest: letsGo, verdict: Keep},
		{number: 3, owners: []ownership.Owner{ownership.Imperative}, writer: ownership.Applier, manifest: letsGo, verdict: Keep},
		{number: 4, owners: manifest, writer: ownership.Applier, manifest: letsGo, scaleOnly: true, verdict: Keep},
		{number: 5, owners: manifest, writer: ownership.Applier, manifest: letsGo, verdict: Through},
		{
			number: 6, owners: []ownership.Owner{ownership.Imperative, ownership.Default},
			writer: ownership.Applier, manifest: setsIt, verdict: Through,
		},
		{
			number: 7, owners: []ownership.Owner{ownership.Default}, writer: ownership.Applier, manifest: lacksIt,
			contradictedOnly: true, verdict: Clear,
		},
		{number: 8, owners: held, writer: ownership.Applier, manifest: setsNull, verdict: Keep},
		{number: 8, writer: ownership.Applier, manifest: setsNull, verdict: Through},
		{number: 9, owners: []ownership.Owner{ownership.Autoscaler}, writer: ownership.ImperativeWriter, verdict: Warn},
		{number: 9, writer: ownership.ImperativeWriter, verdict: Through},
		{number: 10, writer: ownership.OtherWriter, verdict: Through},
		{
			number: 12, owners: []ownership.Owner{ownership.Autoscaler},
			writer: ownership.Applier, scaleOnly: true, created: true, verdict: Start,
		},
	}
}

// Decide looks a field up in the decision table of docs/decisions.md: the first row that fits. Row 0 is none: the
// manifest's own field, or one that it has no say in.
func Decide(f Field) Decision {
	manifest := f.manifest()
	for _, r := range table() {
		if r.fits(f, manifest) {
			return Decision{Row: r.number, Verdict: r.verdict}
		}
	}
	return Decision{}
}

func (r row) fits(f Field, manifest says) bool {
	if f.Created != r.created || r.created && (!f.Changed || f.SwitchedOff) {
		return false
	}
	return f.Writer == r.writer && (r.manifest == anything || r.manifest == manifest) && (!r.scaleOnly || f.Scale) &&
		(!r.contradictedOnly || f.Contradicted && !f.Changed) && (len(r.owners) == 0 || slices.Contains(r.owners, f.Owner))
}

// manifest returns what the manifest says.
func (f Field) manifest() says {
	switch {
	case f.Manifest == ownership.Sets:
		return setsIt
	case f.Manifest == ownership.Clears:
		return setsNull
	case f.Base != ownership.Lacks || f.Removed:
		return letsGo
	default:
		return lacksIt
	}
}

// String returns the verdict as logs write it.
func (v Verdict) String() string {
	switch v {
	case Warn:
		return "warn"
	case Start:
		return "start"
	case Keep:
		return "keep"
	case Clear:
		return "clear"
	case Yield:
		return "yield"
	default:
		return "through"
	}
}
