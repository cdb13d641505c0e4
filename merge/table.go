package merge

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// Verdict is what becomes of a field of the incoming object.
type Verdict int

// The verdicts.
const (
	// Through leaves the incoming value.
	Through Verdict = iota
	// Warn leaves the incoming value, and warns that the field's owner may revert it.
	Warn
	// Start gives a new object the replicas that its autoscaler wants.
	Start
	// Keep restores the live value and its managedFields entries, and removes the field from the last-applied annotation.
	Keep
	// Clear removes the field from the incoming object and from every managedFields entry.
	Clear
	// ManifestWins leaves the incoming value of a field to keep: see Rewrite.
	ManifestWins
	// Removed leaves the incoming object without a value that another manager wrote, and warns.
	Removed
	// Record sets ownership.AppliedAnnotation. No row of the table has it.
	Record
)

// Field has the facts about a contested field that the decision table uses.
type Field struct {
	// Owner is the field's owner in live, Writer the kind of client that writes.
	Owner  ownership.Owner
	Writer ownership.Writer
	// Manifest and Base are what the manifest applied now and the one applied before do with the field.
	Manifest, Base ownership.Declaration
	// Changed reports whether the write changes the field's value or, for a new object, whether the autoscaler's desired
	// replicas exceed the manifest's.
	Changed bool
	// Removed reports whether the write removes the field although neither manifest has it, as replacing the whole object
	// does.
	Removed bool
	// Created reports whether the write creates the object, SwitchedOff whether its manifest sets 0 replicas.
	Created, SwitchedOff bool
	// Scale reports whether it is the object's scale field, Unit whether it is a unit (ownership.UnitOf).
	Scale, Unit bool
	// ToOne reports whether a number of replicas above 1 becomes 1, and the manifest may have dropped it: server-side apply and
	// Helm 3 do not record the difference.
	ToOne bool
	// Unsent reports whether it is a dry run that may not send its manifest, as that of kubectl diff.
	Unsent bool
	// Unrecorded reports whether the write records no manifest, so that a changed value may be a dropped one.
	Unrecorded bool
	// Editable reports whether a rule with ownership.EditApply assigns the field, Edited whether the manifest's value has changed since
	// it was last applied.
	Editable, Edited bool
	// Inside reports whether the field is inside an atomic field, of which the manifest sets the rest.
	Inside bool
	// Contradicted reports whether the manifest chooses another member of the field's union.
	Contradicted bool
	// OffAtZero reports whether the owner is a scaler that 0 replicas, which someone else has set, have switched off. It only
	// changes the message.
	OffAtZero bool
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
// {field} is what was done to which field, as "kept .spec.replicas=7".
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

// owners is a set of owners, one bit for each. The empty set stands for any owner.
type owners uint

func only(some ...ownership.Owner) (set owners) {
	for _, owner := range some {
		set |= 1 << owner
	}
	return set
}

func (o owners) has(owner ownership.Owner) bool { return o == 0 || o&(1<<owner) != 0 }

// row is a row of the decision table.
type row struct {
	number   int
	name     string
	owners   owners
	writer   ownership.Writer
	manifest effect
	when     condition
	verdict  Verdict
	message  message
}

// condition is what a row requires in addition to owner, writer and manifest.
type condition int

const (
	always condition = iota
	isScale
	isScaleOff         // the scaler is off at 0 replicas
	isScaleToOne       // replicas above 1 become 1
	isScaleToOneInDiff // the same, in a dry run that does not send its manifest, as kubectl diff
	isScaleUnrecorded  // the write records no manifest
	isUnit
	isOnlyParentInBase // the manifest drops a parent of the field
	isEditable         // a rule lets another value in the manifest win
	isEdited           // the manifest has another value
	isInside           // an atomic field
	isContradicted     // the manifest chooses another member of the field's union
	isCreated
)

// table is the decision table of docs/decisions.md, in its order. It lacks row 11, about requests that are never intercepted. Rows
// with the same number differ only in their message.
var table = []row{
	{number: 6, name: "apply-edited", owners: only(ownership.Controller), writer: ownership.Applier, manifest: setsIt, when: isEdited},
	{
		number: 1, name: "keep-autoscaled", owners: controlled, writer: ownership.Applier, manifest: setsIt, when: isScaleOff,
		verdict: Keep, message: startIt,
	},
	{
		number: 1, name: "keep-autoscaled", owners: controlled, writer: ownership.Applier, manifest: setsIt, when: isScaleUnrecorded,
		verdict: Keep, message: "{field}, owned by {owner}; remove it if the manifest sets it",
	},
	{
		number: 1, name: "keep-autoscaled", owners: controlled, writer: ownership.Applier, manifest: setsIt, when: isEditable,
		verdict: Keep, message: "{field}, owned by {owner}; a new manifest value wins",
	},
	{
		number: 1, name: "keep-autoscaled", owners: controlled, writer: ownership.Applier, manifest: setsIt, when: isInside,
		verdict: Keep, message: needsNothing,
	},
	{
		number: 1, name: "keep-autoscaled", owners: controlled, writer: ownership.Applier, manifest: setsIt,
		verdict: Keep, message: removeIt,
	},
	{
		number: 2, name: "keep-autoscaled-removed", owners: controlled, writer: ownership.Applier, manifest: dropsIt, when: isScaleOff,
		verdict: Keep, message: startIt,
	},
	{
		number: 2, name: "keep-autoscaled-removed", owners: controlled, writer: ownership.Applier, manifest: dropsIt,
		verdict: Keep, message: needsNothing,
	},
	{
		number: 3, name: "keep-imperative", owners: imperative, writer: ownership.Applier, manifest: dropsIt, when: isScale,
		verdict: Keep, message: "{field}, set by {owner} and no longer in the manifest" + scaleIt,
	},
	{
		number: 3, name: "keep-imperative", owners: imperative, writer: ownership.Applier, manifest: dropsIt, when: isUnit,
		verdict: Keep, message: "{field}, set by {owner} and no longer in the manifest",
	},
	{
		number: 4, name: "keep-replicas-removed", owners: only(ownership.Manifest, ownership.Default), writer: ownership.Applier,
		manifest: dropsIt, when: isScale,
		verdict: Keep, message: "{field}, no longer in the manifest" + scaleIt,
	},
	{
		number: 5, name: "delete-removed", owners: imperative, writer: ownership.Applier, manifest: dropsIt, when: isOnlyParentInBase,
		verdict: Removed, message: "{field}, set by {owner}; set it in the manifest to keep it",
	},
	{
		number: 5, name: "delete-removed", owners: imperative, writer: ownership.Applier, manifest: dropsIt,
		verdict: Removed, message: "{field}, set by {owner}; run kubectl handoff release first to keep it",
	},
	{number: 5, name: "delete-removed", owners: only(ownership.Manifest), writer: ownership.Applier, manifest: dropsIt},
	{
		number: 6, name: "warn-one", owners: notControlled, writer: ownership.Applier, manifest: setsIt, when: isScaleToOne,
		verdict: Warn, message: "{path} goes from {live} to 1; if the manifest only dropped it, use kubectl scale to restore it",
	},
	{
		number: 6, name: "warn-one", owners: notControlled, writer: ownership.Applier, manifest: setsIt, when: isScaleToOneInDiff,
		verdict: Warn, message: "{path} shows 1; if the manifest only dropped it, kubectl apply keeps {live}",
	},
	{number: 6, name: "take-over", owners: only(ownership.Imperative, ownership.Default), writer: ownership.Applier, manifest: setsIt},
	{
		number: 7, name: "clear-stale-default", owners: only(ownership.Default), writer: ownership.Applier, manifest: lacksIt,
		when: isContradicted, verdict: Clear,
		message: "{field}, a default that conflicts with {choice}" + NoAction,
	},
	{
		number: 8, name: "keep-autoscaled-null", owners: controlled, writer: ownership.Applier, manifest: setsNull, when: isScaleOff,
		verdict: Keep, message: startIt,
	},
	{
		number: 8, name: "keep-autoscaled-null", owners: controlled, writer: ownership.Applier, manifest: setsNull,
		verdict: Keep, message: removeIt,
	},
	{number: 8, name: "clear-null", writer: ownership.Applier, manifest: setsNull},
	{
		number: 9, name: "warn-autoscaled", owners: only(ownership.Autoscaler), writer: ownership.ImperativeWriter, verdict: Warn,
		message: "{owner} owns {path} and may revert this change; change the autoscaler instead",
	},
	{number: 9, name: "imperative", writer: ownership.ImperativeWriter},
	{number: 10, name: "other-writer", writer: ownership.OtherWriter},
	{
		number: 12, name: "start-autoscaled", owners: only(ownership.Autoscaler), writer: ownership.Applier, manifest: setsIt,
		when: isCreated, verdict: Start, message: removeIt,
	},
	{
		number: 12, name: "start-autoscaled", owners: only(ownership.Autoscaler), writer: ownership.Applier,
		when: isCreated, verdict: Start, message: needsNothing,
	},
}

var (
	controlled    = only(ownership.Autoscaler, ownership.Controller)
	notControlled = only(ownership.Imperative, ownership.Manifest, ownership.Default)
	imperative    = only(ownership.Imperative)
)

// The messages of several rows.
const (
	removeIt     = "{field}, owned by {owner}; remove it from the manifest"
	startIt      = "{field}, {owner} is off at 0; start it with kubectl scale"
	needsNothing = "{field}, owned by {owner}" + NoAction
	manifestWins = "{field}, set by {owner}: {reason}"
)

// scaleIt is the remedy for a manifest that has dropped its replicas.
const scaleIt = "; use an HPA or kubectl scale"

// Lookup returns the decision on a field: that of the first matching row of the table in docs/decisions.md. If no row matches,
// it returns the zero Decision: the manifest owns the field, or does not set it.
func Lookup(f Field) Decision {
	does := f.effect()
	for i := range table {
		if r := &table[i]; r.matches(f, does) {
			return Decision{Row: r.number, Name: r.name, Verdict: r.verdict, message: r.message}
		}
	}
	return Decision{}
}

// LookupApply returns the decision on a field of the live object that an apply changes, given how the manifest and the base
// declare it. It decides as the webhook does, for callers that have no write to look at.
func LookupApply(
	owner ownership.Owner, declared ownership.Declared, kind schema.GroupKind, path fieldpath.Path, isScale bool,
) Decision {
	_, _, isUnit := ownership.UnitOf(kind, path)
	return Lookup(Field{
		Owner: owner.Decided(), Writer: ownership.Applier, Manifest: declared.Manifest, Base: declared.Base, Changed: true,
		Scale: isScale, Unit: isUnit,
	})
}

func (r *row) matches(f Field, does effect) bool {
	if f.Created != (r.when == isCreated) || f.Created && (!f.Changed || f.SwitchedOff) {
		return false
	}
	return f.Writer == r.writer && (r.manifest == anything || r.manifest == does) && r.owners.has(f.Owner) && f.meets(r.when)
}

// meets reports whether a field meets the condition of a row.
func (f Field) meets(when condition) bool {
	switch when {
	case isScale, isCreated:
		return f.Scale
	case isScaleOff:
		return f.Scale && f.OffAtZero
	case isScaleToOne:
		return f.Scale && f.ToOne
	case isScaleToOneInDiff:
		return f.Scale && f.Unsent
	case isScaleUnrecorded:
		return f.Scale && f.Unrecorded
	case isUnit:
		return f.Unit
	case isOnlyParentInBase:
		return f.Base == ownership.Lacks
	case isEditable:
		return f.Editable
	case isEdited:
		return f.Edited
	case isInside:
		return f.Inside
	case isContradicted:
		return f.Contradicted && !f.Changed
	default:
		return true
	}
}

// effect returns what the manifest does with the field.
func (f Field) effect() effect {
	switch {
	case f.Manifest == ownership.Sets:
		return setsIt
	case f.Manifest == ownership.Clears && (!f.Scale || f.Owner >= ownership.Controller):
		return setsNull
	case f.Manifest == ownership.Clears: // replicas that a template has left empty
		return dropsIt
	case f.Base != ownership.Lacks || f.Removed:
		return dropsIt
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
	case ManifestWins:
		return "manifest-wins"
	case Removed:
		return "removed"
	case Record:
		return "record"
	default:
		return "through"
	}
}
