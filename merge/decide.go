package merge

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/managedfields"
	"github.com/ownership-handoff/handoff/ownership"
)

var (
	// ErrBudget is returned if a write needs more work than its Meter allows.
	ErrBudget = errors.New("the work budget is exhausted")
	// ErrPanic is returned if the decisions on fields other than the scale field have panicked.
	ErrPanic = errors.New("panic")
)

// Cluster looks up other objects that a decision depends on.
type Cluster interface {
	// ScalePath returns the path of the scale field of a kind, nil if the kind has none.
	ScalePath(group, version, kind string) fieldpath.Path
	// Scaler returns what is known about the scalers that reference an object.
	Scaler(namespace, group, kind, name string) ownership.Scaler
}

// Decider decides on writes by the decision table of docs/decisions.md.
type Decider struct {
	Cluster Cluster
	// Managers are the field managers of the configuration, Rules its rules that assign fields to controllers.
	Managers ownership.Managers
	Rules    ownership.Rules
}

// Decide decides on each contested field of a write to an object, not to one of its subresources, and returns the changes and the
// patch. It uses what an AdmissionReview says of the write: the objects, their kind and name, the field manager, and whether it is a dry
// run. The Meter limits the work on fields other than the scale field. Once it has ended the work, it must stay so.
//
// The scale field is decided first, and whatever prevents the decisions on other fields does not prevent it: Outcome.Skipped. The error is
// ownership.ErrNotAnInteger, ErrNotRestored or ownership.ErrManagedFields.
func (d Decider) Decide(w ownership.Write) (Outcome, error) {
	meter := w.Meter
	w.Meter = nil
	if w.Scale = d.Cluster.ScalePath(w.Kind.Group, w.Kind.Version, w.Kind.Kind); w.Scale != nil {
		w.Scaler = d.Cluster.Scaler(w.Namespace, w.Kind.Group, w.Kind.Kind, w.Name)
	}
	creates := !w.Live.Present()
	if creates && w.Scaler.Name == "" && !d.Rules.Remember() {
		return Outcome{}, nil
	}
	scaleIn := d.scalePathsOf(w.Kind.Kind)
	rules, invalid, skipped := d.rulesFor(w)
	ignored := Outcome{InvalidPaths: invalid, Skipped: skipped}
	w.Managers = d.Managers.WithRules(rules, scaleIn, w.Live, w.Incoming)
	w.Managers.Readable = w.Scaler.Readable
	err := w.Read()
	if err != nil || w.Sender.Writer == ownership.OtherWriter || creates && w.Sender.Writer != ownership.Applier {
		return ignored, err // row 10, or row 9 without a live object
	}
	w.Autoscaler = w.ScalerThatOwns(w.Manifests.BaseValue(w.Scale))
	scaled, err := decideScale(w)
	if err != nil || creates && len(scaled) == 0 && !d.Rules.Remember() {
		return ignored, err
	}
	out, err := decideFields(w, scaled, meter)
	if skipped := err; skipped != nil { // carry out the decision on the scale field only
		out, err = carryOut(w, scaled)
		out.Skipped = skipped
	}
	out.InvalidPaths, out.Skipped = ignored.InvalidPaths, cmp.Or(ignored.Skipped, out.Skipped, w.Manifests.Unread)
	return out, err
}

// rulesFor returns the rules for the object of a write. invalid is the error about paths of the object's annotation that are ignored,
// because they do not parse, and skipped is ErrPanic if all rules are: reading them panics.
func (d Decider) rulesFor(w ownership.Write) (rules ownership.ObjectRules, invalid, skipped error) {
	defer func() {
		if p := recover(); p != nil {
			skipped = ErrPanic
		}
	}()
	rules, invalid = d.Rules.For(w.Kind.GroupKind(), w.Namespace, w.Incoming)
	return rules, invalid, nil
}

// scalePathsOf returns the paths of the scale field of a kind.
func (d Decider) scalePathsOf(kind string) ownership.ScalePaths {
	return func(apiVersion string) fieldpath.Path {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil
		}
		return d.Cluster.ScalePath(gv.Group, gv.Version, kind)
	}
}

// decideScale decides on the scale field. It returns at most one change, and ownership.ErrNotAnInteger unless the values are valid replicas,
// so that warnings and Events quote nothing but numbers.
func decideScale(w ownership.Write) ([]*Change, error) {
	change, ok := scaleChange(w)
	if !ok {
		return nil, nil
	}
	c := change.decided()
	if !c.restores() && (c.Decision.Verdict != Warn || !c.Field.Changed()) {
		return nil, nil
	}
	if _, err := ownership.Replicas(c.Field.Live); err != nil {
		return nil, err
	}
	if _, err := ownership.Replicas(c.Field.Incoming); err != nil && !ownership.IsUnset(c.Field.Incoming) {
		return nil, err
	}
	return []*Change{c}, nil
}

// scaleChange returns the change of the scale field, without a decision; ok is false if there is nothing to decide.
func scaleChange(w ownership.Write) (c Change, ok bool) {
	if !w.Live.Present() {
		return startOf(w)
	}
	field, ok := w.ScaleField()
	before, _ := ownership.Replicas(field.Live)
	isOne, wasMore := string(field.Incoming) == "1", before > 1
	unsent, unrecorded := w.Unsent(), w.Sender.Writer == ownership.Applier && !w.Manifests.Recorded
	return Change{
		Field: field, Writer: w.Sender.Writer,
		OffAtZero: w.Scaler.OffAtZero && field.Owner.Kind == ownership.Autoscaler && string(field.Live) == "0",
		ToOne:     unrecorded && isOne && wasMore, ToOneInDiff: unsent && isOne && wasMore,
		Unrecorded: isOne && (unsent || unrecorded && !w.Sender.ServerSide()),
	}, ok
}

// startOf is row 12: if an apply creates a workload that an autoscaler already targets, as after a deletion, the workload starts with
// the autoscaler's desired replicas instead of the manifest's. A manifest that sets 0 replicas, or not what contains them, is left alone.
func startOf(w ownership.Write) (c Change, ok bool) {
	incoming := w.Incoming.Value(w.Scale)
	now, _ := ownership.Replicas(incoming)
	isUnrecorded := now == 1 && !w.Manifests.Recorded && !w.Sender.ServerSide()
	return Change{Starts: true, Unrecorded: isUnrecorded, Writer: w.Sender.Writer, Field: ownership.ContestedField{
		Path: w.Scale, Scale: true, Live: strconv.AppendInt(nil, w.Scaler.Desired, 10), Incoming: incoming,
		Owner:    ownership.FieldOwner{Kind: ownership.Autoscaler, By: w.Scaler.Name},
		Declared: ownership.Declared{Manifest: w.Declared(w.Scale).Manifest},
	}}, w.Scaler.Desired > now && string(incoming) != "0" && w.Incoming.At().Find(w.Scale[:max(0, len(w.Scale)-1)]).IsObject()
}

// decideFields decides on the other fields, and carries out all decisions. scaled is the decision on the scale field.
func decideFields(w ownership.Write, scaled []*Change, meter ownership.Meter) (out Outcome, err error) {
	if w.Sender.Writer != ownership.Applier {
		return carryOut(w, scaled) // at most a warning (row 9)
	}
	w.Limit(meter)
	defer func() {
		w.Limit(nil)
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %T\n%s", ErrPanic, p, debug.Stack())
		}
		if !meter.Spend(0) {
			err = ErrBudget // after that, neither results nor errors are valid
		}
	}()
	search, err := w.Search()
	if err != nil {
		return out, err
	}
	recorded, isRecorded := recordApplied(search)
	changes := make([]*Change, 0, len(scaled))
	for _, c := range scaled {
		changes = append(changes, c.recorded(isRecorded))
	}
	for field := range search.Contested() {
		c := changeOf(field, w.Sender.Writer).recorded(isRecorded)
		if c.Decision.Verdict == Keep || c.Decision.Verdict == Clear {
			changes = append(changes, c)
		}
	}
	removed := removedBy(search, w.Sender.Writer, changes)
	out, err = carryOut(w, append(changes, recorded...))
	out.Changes = append(out.Changes, removed...)
	return out, err
}

// recordApplied returns the change of ownership.AppliedAnnotation, none if the write needs none. isRecorded reports whether it then has
// the values that the manifest sets.
func recordApplied(search *ownership.Search) (changes []*Change, isRecorded bool) {
	text, changed := search.AppliedValues()
	if changed {
		value, _ := json.Marshal(string(text)) //nolint:errchkjson // a string
		field := ownership.ContestedField{Path: ownership.AppliedPath(), Live: value}
		changes = []*Change{{Field: field, Decision: Decision{Verdict: Record}}}
	}
	return changes, string(text) != ownership.NothingApplied
}

// removedBy returns the values of other managers that the write removes, other than those about which something is decided, their parents
// and what is nested under them.
func removedBy(search *ownership.Search, writer ownership.Writer, decided []*Change) (removed []*Change) {
	tree := fieldtree.Tree{}
	for _, c := range decided {
		tree.Add(c.Field.Path)
	}
	for _, field := range search.Removed(tree.Has) {
		if c := changeOf(field, writer); c.Decision.Verdict == Removed {
			removed = append(removed, c)
		}
	}
	return removed
}

// carryOut carries out the decisions, unless there is nothing to do but to warn. The outcome does not list fields that need no change.
func carryOut(w ownership.Write, changes []*Change) (Outcome, error) {
	warnings := slices.DeleteFunc(slices.Clone(changes), func(c *Change) bool { return c.Decision.Verdict != Warn })
	if len(warnings) == len(changes) || takesOver(w) {
		return Outcome{Changes: warnings}, nil
	}
	out, err := Rewrite(w, changes)
	if err != nil {
		return Outcome{}, fmt.Errorf("carrying out %d decisions: %w", len(changes), err)
	}
	return out, nil
}

// takesOver reports whether a server-side applier changes nothing but managedFields and the last-applied annotation, and removes fields
// from an entry of another manager. That is how kubectl migrates an object from client-side to server-side apply, and how Flux takes over
// the fields that kubectl wrote (fluxcd/pkg/ssa, PatchReplaceFieldsManagers). No client does that to entries of subresources.
func takesOver(w ownership.Write) bool {
	if !w.Sender.ServerSide() {
		return false
	}
	recorded := records(w)
	for pair := range managedfields.Pairs(w.LiveEntries, w.IncomingEntries) {
		if pair.InLive && pair.Live.Subresource == "" && !pair.Live.Same(w.Sender.Entry) && pair.Changed() {
			return jsontree.EqualBut(w.Live.At(), w.Incoming.At(), recorded...)
		}
	}
	return false
}
