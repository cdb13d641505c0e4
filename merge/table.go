package merge

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// Verdict is what becomes of a field of the incoming object, in the words of logs and metrics.
type Verdict string

// The verdicts.
const (
	// Through leaves the incoming value.
	Through Verdict = ""
	// Warn leaves the incoming value, and warns.
	Warn Verdict = "warn"
	// Start gives a new object the replicas that its autoscaler wants.
	Start Verdict = "start"
	// Keep restores the live value and its managedFields entries, and removes the field from the last-applied annotation.
	Keep Verdict = "keep"
	// Clear removes the field from the incoming object and from every managedFields entry.
	Clear Verdict = "clear"
	// ManifestWins leaves the incoming value of a field to keep: see Rewrite. No row of the table has it.
	ManifestWins Verdict = "manifest-wins"
	// Removed leaves the incoming object without a value that another manager wrote, and warns.
	Removed Verdict = "removed"
	// Record sets ownership.AppliedAnnotation. No row of the table has it.
	Record Verdict = "record"
)

// Done returns what the texts say that was done to a field: "kept". It is empty for the verdicts without a text.
func (v Verdict) Done() string {
	return map[Verdict]string{
		Warn: "allowed", Start: "started with", Keep: "kept", Clear: "cleared", ManifestWins: "not kept", Removed: "removed",
	}[v]
}

// Decision is the decision on a field.
type Decision struct {
	// Row is the number of the matching row in docs/decisions.md, 0 if none matches.
	Row int
	// Name is the row's name in metrics, logs and audit annotations, as "keep-autoscaled"; empty if no row matches.
	Name    string
	Verdict Verdict
	message message
}

// message is the text about a decision, with the reason and the remedy. Placeholders in braces stand for what Change.Text fills in:
// {field} is what was done to which field, as "kept .spec.replicas=7", {path} the field, {live} its value, {owner} its owner, and {reason}
// and {choice} are Change.Reason.
type message string

// NoAction is the remedy at the end of a reason if the decision is all that is needed.
const NoAction = "; no action needed"

// effect is what an applier's manifest does with a field, compared with the base.
type effect int

const (
	anything effect = iota
	setsIt          // the manifest gives it a value
	dropsIt         // the manifest lacks it and the base has it
	setsNull        // the manifest sets it to null
	lacksIt         // neither has it
)

// row is a row of the decision table. An empty list of owners stands for any owner.
type row struct {
	number   int
	name     string
	owners   []ownership.Owner
	writer   ownership.Writer
	manifest effect
	when     condition
	verdict  Verdict
	message  message
}

// table is the decision table of docs/decisions.md. The first matching row decides. It lacks row 11, about requests that are never
// intercepted, and Decide returns before it looks up row 10. Rows with the same name differ only in their message and verdict.
var table = []row{
	{6, "apply-edited", []ownership.Owner{ownership.Controller}, ownership.Applier, setsIt, isEdited, Through, ""},
	{1, "keep-autoscaled", controlled, ownership.Applier, setsIt, isOff, Keep, startIt},
	{1, "keep-autoscaled", controlled, ownership.Applier, setsIt, isUnrecorded, Keep, removeIfSet},
	{1, "keep-autoscaled", controlled, ownership.Applier, setsIt, isEditable, Keep, "{field}, owned by {owner}; a new manifest value wins"},
	{1, "keep-autoscaled", controlled, ownership.Applier, setsIt, isInside, Keep, needsNothing},
	{1, "keep-autoscaled", controlled, ownership.Applier, setsIt, always, Keep, removeIt},
	{2, "keep-autoscaled-removed", controlled, ownership.Applier, dropsIt, isOff, Keep, startIt},
	{2, "keep-autoscaled-removed", controlled, ownership.Applier, dropsIt, always, Keep, needsNothing},
	{3, "keep-imperative", imperative, ownership.Applier, dropsIt, isScale, Keep, setBy + " and no longer in the manifest" + scaleIt},
	{3, "keep-imperative", imperative, ownership.Applier, dropsIt, isUnit, Keep, setBy + " and no longer in the manifest"},
	{4, "keep-replicas-removed", unclaimed, ownership.Applier, dropsIt, isScale, Keep, "{field}, no longer in the manifest" + scaleIt},
	{5, "delete-removed", imperative, ownership.Applier, dropsIt, isNotInBase, Removed, setBy + "; set it in the manifest to keep it"},
	{5, "delete-removed", imperative, ownership.Applier, dropsIt, always, Removed, setBy + "; run kubectl handoff release first to keep it"},
	{5, "delete-removed", []ownership.Owner{ownership.Manifest}, ownership.Applier, dropsIt, always, Through, ""},
	{6, "warn-one", notControlled, ownership.Applier, setsIt, isToOne, Warn, toOne},
	{6, "warn-one", notControlled, ownership.Applier, setsIt, isToOneInDiff, Warn, toOneInDiff},
	{6, "take-over", []ownership.Owner{ownership.Imperative, ownership.Default}, ownership.Applier, setsIt, always, Through, ""},
	{7, "clear-stale-default", defaulted, ownership.Applier, lacksIt, isContradicted, Clear, "{field}, a default that conflicts with {choice}" + NoAction},
	{8, "keep-autoscaled-null", controlled, ownership.Applier, setsNull, isOff, Keep, startIt},
	{8, "keep-autoscaled-null", controlled, ownership.Applier, setsNull, always, Keep, removeIt},
	{8, "clear-null", nil, ownership.Applier, setsNull, always, Through, ""},
	{9, "warn-autoscaled", autoscaler, ownership.ImperativeWriter, anything, always, Warn, mayRevert},
	{9, "imperative", nil, ownership.ImperativeWriter, anything, always, Through, ""},
	{10, "other-writer", nil, ownership.OtherWriter, anything, always, Through, ""},
	{12, "start-autoscaled", autoscaler, ownership.Applier, setsIt, isUnrecorded, Start, removeIfSet},
	{12, "start-autoscaled", autoscaler, ownership.Applier, setsIt, always, Start, removeIt},
	{12, "start-autoscaled", autoscaler, ownership.Applier, anything, always, Start, needsNothing},
}

var (
	autoscaler    = []ownership.Owner{ownership.Autoscaler}
	controlled    = []ownership.Owner{ownership.Autoscaler, ownership.Controller}
	imperative    = []ownership.Owner{ownership.Imperative}
	unclaimed     = []ownership.Owner{ownership.Manifest, ownership.Default}
	notControlled = []ownership.Owner{ownership.Imperative, ownership.Manifest, ownership.Default}
	defaulted     = []ownership.Owner{ownership.Default}
)

// The messages of several rows, and the long ones.
const (
	removeIt     = "{field}, owned by {owner}; remove it from the manifest"
	removeIfSet  = "{field}, owned by {owner}; remove it if the manifest sets it"
	startIt      = "{field}, {owner} is off at 0; start it with kubectl scale"
	needsNothing = "{field}, owned by {owner}" + NoAction
	setBy        = "{field}, set by {owner}"
	scaleIt      = "; use an HPA or kubectl scale" // if the manifest has dropped its replicas
	toOne        = "{path} goes from {live} to 1; if the manifest only dropped it, use kubectl scale to restore it"
	toOneInDiff  = "{path} shows 1; if the manifest only dropped it, kubectl apply keeps {live}"
	mayRevert    = "{owner} owns {path} and may revert this change; change the autoscaler instead"
	manifestWins = setBy + ": {reason}"
)

// condition is what a row requires in addition to owner, writer and manifest.
type condition func(c Change) bool

func always(Change) bool           { return true }
func isScale(c Change) bool        { return c.Field.Scale }
func isUnit(c Change) bool         { return c.Field.Unit }
func isNotInBase(c Change) bool    { return c.Field.Declared.Base == ownership.Lacks }
func isEditable(c Change) bool     { return c.Field.Editable }
func isEdited(c Change) bool       { return c.Field.Edited }
func isInside(c Change) bool       { return c.Field.Atomic > 0 }
func isOff(c Change) bool          { return c.OffAtZero }
func isUnrecorded(c Change) bool   { return c.Unrecorded }
func isToOne(c Change) bool        { return c.ToOne }
func isToOneInDiff(c Change) bool  { return c.ToOneInDiff }
func isContradicted(c Change) bool { return c.Field.Contradicts != "" }

// Lookup returns the decision on a field: that of the first matching row of the table in docs/decisions.md. If no row matches,
// it returns the zero Decision: the manifest owns the field, or does not set it.
func Lookup(c Change) Decision {
	does := c.effect()
	for _, r := range table {
		if r.matches(&c, does) {
			return Decision{Row: r.number, Name: r.name, Verdict: r.verdict, message: r.message}
		}
	}
	return Decision{}
}

// LookupApply returns the decision on a field of a live object that an apply changes, given its owner and how the manifest and the base
// declare it. It decides as the webhook does, for callers that have no write to look at.
func LookupApply(
	live ownership.Object, kind schema.GroupKind, path fieldpath.Path, owner ownership.Owner, declared ownership.Declared, isScale bool,
) Decision {
	_, _, isUnit := live.UnitOf(kind, path)
	return Lookup(Change{Writer: ownership.Applier, Field: ownership.ContestedField{
		Owner: ownership.FieldOwner{Kind: owner.Decided()}, Declared: declared, Scale: isScale, Unit: isUnit,
	}})
}

func (r row) matches(c *Change, does effect) bool {
	isOwner := len(r.owners) == 0 || slices.Contains(r.owners, c.Field.Owner.Kind)
	return isOwner && r.writer == c.Writer && (r.manifest == anything || r.manifest == does) && (r.verdict == Start) == c.Starts && r.when(*c)
}

// effect returns what the manifest does with the field.
func (c *Change) effect() effect {
	declared, isControlled := c.Field.Declared, c.Field.Owner.Kind >= ownership.Controller
	switch {
	case declared.Manifest == ownership.Sets:
		return setsIt
	case declared.Manifest == ownership.Clears && (!c.Field.Scale || isControlled):
		return setsNull
	case declared.Manifest == ownership.Clears: // replicas that a template has left empty
		return dropsIt
	case declared.Base != ownership.Lacks || c.Field.Removed:
		return dropsIt
	default:
		return lacksIt
	}
}
