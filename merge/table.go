package merge

import (
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
	// Yield leaves the incoming value of a field to keep, because the manifest wins: see Rewritten.Overruled.
	Yield
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
	// Scale reports whether it is the object's scale field.
	Scale bool
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

// message is the text about a decision, with the reason and the remedy: what follows "kept .spec.replicas=7".
type message struct {
	before string // the name
	name   named
	after  string // the name
	// ownerFirst reports whether the text begins with the name of the owner, before is in front of the field, and after
	// follows it.
	ownerFirst bool
}

// named is what a message names.
type named int

const (
	theOwner  named = iota
	theChoice       // the value or member that excludes a cleared field
	nothing
)

func ownedBy(remedy string) message { return message{before: ", owned by ", after: remedy} }

// overruledBy is the message about a field to keep over which the manifest wins (Yield).
func overruledBy(reason string) message { return message{before: ", set by ", after: ": " + reason} }

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
	number           int
	name             string
	owners           owners
	writer           ownership.Writer
	manifest         effect
	scaleOnly        bool
	contradictedOnly bool
	created          bool
	verdict          Verdict
	message          message
	offAtZero        message // instead of message if Field.OffAtZero
}

// table is the decision table of docs/decisions.md, in its order. It lacks row 11, about requests that are never intercepted.
func table() [15]row { // an array: it is read for each contested field, and must not be allocated for each
	autoscaled, controlled := only(ownership.Autoscaler), only(ownership.Autoscaler, ownership.Controller)
	declared, imperative := only(ownership.Manifest), only(ownership.Imperative)
	removeIt, noAction := ownedBy("; remove it from the manifest"), ownedBy(NoAction)
	startIt := message{before: ", ", after: " is off at 0; start it with kubectl scale"}
	return [...]row{
		{
			number: 1, name: "keep-autoscaled", owners: controlled, writer: ownership.Applier, manifest: setsIt, verdict: Keep,
			message: removeIt, offAtZero: startIt,
		},
		{
			number: 2, name: "keep-autoscaled-removed", owners: controlled, writer: ownership.Applier, manifest: dropsIt, verdict: Keep,
			message: noAction, offAtZero: startIt,
		},
		{ // row 3 for the scale field: the message also says what to use instead of the manifest
			number: 3, name: "keep-imperative", owners: imperative, writer: ownership.Applier, manifest: dropsIt, scaleOnly: true,
			verdict: Keep,
			message: message{before: ", set by ", after: " and no longer in the manifest; use kubectl scale from now on"},
		},
		{
			number: 3, name: "keep-imperative", owners: imperative, writer: ownership.Applier, manifest: dropsIt, verdict: Keep,
			message: message{before: ", set by ", after: " and no longer in the manifest"},
		},
		{
			number: 4, name: "keep-replicas-removed", owners: declared, writer: ownership.Applier, manifest: dropsIt, scaleOnly: true,
			verdict: Keep, message: message{before: ", no longer in the manifest; use kubectl scale from now on", name: nothing},
		},
		{number: 5, name: "delete-removed", owners: declared, writer: ownership.Applier, manifest: dropsIt, verdict: Through},
		{
			number: 6, name: "take-over", owners: only(ownership.Imperative, ownership.Default),
			writer: ownership.Applier, manifest: setsIt, verdict: Through,
		},
		{
			number: 7, name: "clear-stale-default", owners: only(ownership.Default), writer: ownership.Applier,
			manifest: lacksIt, contradictedOnly: true, verdict: Clear,
			message: message{before: ", a default that conflicts with ", name: theChoice, after: NoAction},
		},
		{
			number: 8, name: "keep-autoscaled-null", owners: controlled, writer: ownership.Applier, manifest: setsNull, verdict: Keep,
			message: removeIt, offAtZero: startIt,
		},
		{number: 8, name: "clear-null", writer: ownership.Applier, manifest: setsNull, verdict: Through},
		{
			number: 9, name: "warn-autoscaled", owners: autoscaled, writer: ownership.ImperativeWriter, verdict: Warn,
			message: message{ownerFirst: true, before: " owns ", after: " and may revert this change; change the autoscaler instead"},
		},
		{number: 9, name: "imperative", writer: ownership.ImperativeWriter, verdict: Through},
		{number: 10, name: "other-writer", writer: ownership.OtherWriter, verdict: Through},
		{
			number: 12, name: "start-autoscaled", owners: autoscaled, writer: ownership.Applier,
			manifest: setsIt, scaleOnly: true, created: true, verdict: Start,
			message: removeIt,
		},
		{
			number: 12, name: "start-autoscaled", owners: autoscaled, writer: ownership.Applier,
			scaleOnly: true, created: true, verdict: Start, message: noAction,
		},
	}
}

// Lookup returns the decision on a field: that of the first matching row of the table in docs/decisions.md. If no row matches,
// it returns the zero Decision: the manifest owns the field, or does not set it.
func Lookup(f Field) Decision {
	does := f.effect()
	rows := table()
	for i := range rows {
		if r := &rows[i]; r.matches(f, does) {
			return Decision{Row: r.number, Name: r.name, Verdict: r.verdict, message: r.messageFor(f)}
		}
	}
	return Decision{}
}

// LookupApply returns the decision on a field of the live object that an apply changes, given how the manifest and the base
// declare it. It decides as the webhook does, for callers that have no write to look at.
func LookupApply(owner ownership.Owner, declared ownership.Declared, isScale bool) Decision {
	return Lookup(Field{
		Owner: owner.Decided(), Writer: ownership.Applier, Manifest: declared.Manifest, Base: declared.Base, Changed: true,
		Scale: isScale,
	})
}

func (r *row) messageFor(f Field) message {
	if f.OffAtZero && r.offAtZero != (message{}) {
		return r.offAtZero
	}
	return r.message
}

func (r *row) matches(f Field, does effect) bool {
	if f.Created != r.created || r.created && (!f.Changed || f.SwitchedOff) {
		return false
	}
	return f.Writer == r.writer && (r.manifest == anything || r.manifest == does) && (!r.scaleOnly || f.Scale) &&
		(!r.contradictedOnly || f.Contradicted && !f.Changed) && r.owners.has(f.Owner)
}

// effect returns what the manifest does with the field.
func (f Field) effect() effect {
	switch {
	case f.Manifest == ownership.Sets:
		return setsIt
	case f.Manifest == ownership.Clears:
		return setsNull
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
	case Yield:
		return "yield"
	default:
		return "through"
	}
}
