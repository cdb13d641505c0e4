package merge

import (
	"bytes"
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
	"github.com/ownership-handoff/handoff/ownership"
)

var (
	// ErrNotAnInteger is returned if a value of the scale field is not an integer from 0 to the maximum of int32.
	ErrNotAnInteger = errors.New("the scale field is not an integer")
	// ErrBudget is returned if a write needs more work than Request.Meter allows.
	ErrBudget = errors.New("the work budget is exhausted")
	// ErrPanic is returned if the decisions on fields other than the scale field have panicked.
	ErrPanic = errors.New("panic")
)

// Request is a write to an object, not to one of its subresources, as an admission webhook sees it.
type Request struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// FieldManager is the one in the request's options, or empty.
	FieldManager string
	// DryRun reports whether the result is not stored, as for kubectl diff.
	DryRun bool
	// Live is the stored object, the zero Object if the write creates it. Incoming is the object about to be stored.
	Live, Incoming ownership.Object
	// Meter limits the work on fields other than the scale field; nil sets no limit. Once it has ended the work, it must stay so.
	Meter ownership.Meter
}

// Outcome is the result of the decisions on a write. The zero Outcome does not modify the write.
type Outcome struct {
	// Changes are the fields that do not get the value that the writer sent, and the fields to warn the writer about.
	Changes []Change
	// Operations are a JSON patch (RFC 6902) on the incoming object.
	Operations []Operation
	// InvalidPaths is the error about the paths in annotation ownership.ControllerFieldsAnnotation that do not parse and are
	// ignored; nil if all parse.
	InvalidPaths error
	// Skipped is the error because of which only the scale field was decided; nil if all fields were. It is ErrBudget, ErrPanic,
	// ErrNotRestored, ownership.ErrManagedFields or ownership.ErrLastApplied.
	Skipped error
}

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

// Decide decides on each contested field of a write, and returns the changes and the patch. The scale field is decided first, and
// whatever prevents the decisions on other fields does not prevent it: Outcome.Skipped. The error is ErrNotAnInteger,
// ErrNotRestored or ownership.ErrManagedFields.
func (d Decider) Decide(r Request) (Outcome, error) {
	r.Incoming = r.Incoming.Sharing(r.Live)
	if !r.Live.Present() {
		return d.decideCreate(r)
	}
	w, context, invalid, err := d.writeOf(r)
	if err != nil {
		return Outcome{}, err
	}
	if w.Sender.Writer == ownership.OtherWriter {
		return Outcome{InvalidPaths: invalid}, nil // row 10: nothing to do, so return before any work
	}
	scale, err := d.decideScale(r, &context, w)
	if err != nil {
		return Outcome{InvalidPaths: invalid}, err
	}
	return decide(w, context, scale, invalid, r.Meter)
}

// decide decides on the fields other than the scale field, and carries out all decisions. If that fails, only the decision on the scale
// field is carried out. invalid is the error about rules that are ignored.
func decide(
	w ownership.Write, context ownership.ObjectContext, scale []Change, invalid error, meter ownership.Meter,
) (Outcome, error) {
	out, err := decideFields(w, context, scale, meter)
	if err != nil {
		skipped := err
		out, err = rewrite(w, scale)
		out.Skipped = skipped
	}
	switch {
	case errors.Is(invalid, ErrPanic):
		out.Skipped = invalid // all rules are ignored
	default:
		out.InvalidPaths = invalid
	}
	if out.Skipped == nil {
		out.Skipped = w.Manifests.Unread
	}
	return out, err
}

// managersFor returns the field managers for the object of a write, with its rules and its scale field. invalid is the error about the
// rules that are ignored: paths of the object's annotation that do not parse, or all if reading them panics.
func (d Decider) managersFor(r Request) (managers ownership.Managers, invalid error) {
	scale := func(apiVersion string) fieldpath.Path {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return nil
		}
		return d.Cluster.ScalePath(gv.Group, gv.Version, r.Kind.Kind)
	}
	defer func() {
		if p := recover(); p != nil {
			managers, invalid = d.Managers.WithRules(ownership.ObjectRules{}, scale), ErrPanic
		}
	}()
	rules, invalid := d.Rules.For(r.Kind.GroupKind(), r.Namespace, r.Incoming)
	return d.Managers.WithRules(rules, scale), invalid
}

// decideScale decides on the scale field. It returns at most one change.
func (d Decider) decideScale(r Request, context *ownership.ObjectContext, w ownership.Write) ([]Change, error) {
	scaler := d.scalerOf(r, context, w.LiveEntries)
	field, ok := context.ScaleField(w, scaler)
	if !ok {
		return nil, nil
	}
	facts := factsOf(field, w.Sender.Writer)
	facts.OffAtZero = scaler.OffAtZero && facts.Owner == ownership.Autoscaler && string(field.Live) == "0"
	unrecorded := w.Sender.Writer == ownership.Applier && !w.Manifests.Recorded
	unsent := r.DryRun && w.Manifests.Unsent()
	facts.Unrecorded = (unrecorded && !w.Sender.ServerSide() || unsent) && string(field.Incoming) == "1"
	facts.Unsent = unsent && string(field.Incoming) == "1" && isAboveOne(field.Live)
	facts.ToOne = unrecorded && string(field.Incoming) == "1" && isAboveOne(field.Live)
	c := changeOf(field, facts)
	if c.Decision.Verdict != Keep && (c.Decision.Verdict != Warn || !c.Field.Changed) {
		return nil, nil
	}
	return []Change{c}, c.checkScale()
}

func isAboveOne(replicas []byte) bool {
	n, err := strconv.ParseUint(string(replicas), 10, 31)
	return err == nil && n > 1
}

// decideFields decides on the other fields, and carries out all decisions. scale is the decision on the scale field.
func decideFields(
	w ownership.Write, context ownership.ObjectContext, scale []Change, meter ownership.Meter,
) (out Outcome, err error) {
	w.Limit(meter)
	defer func() {
		w.Limit(nil)
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %T\n%s", ErrPanic, p, debug.Stack())
		}
		if meter != nil && !meter(0) {
			err = ErrBudget // after that, neither results nor errors are valid
		}
	}()
	if w.Sender.Writer != ownership.Applier {
		return rewrite(w, scale)
	}
	fields, err := context.ContestedFields(w)
	if err != nil {
		return out, err
	}
	recorded, isRecorded, err := record(w, context)
	if err != nil {
		return out, err
	}
	changes := append(make([]Change, 0, len(scale)+len(fields)), scale...)
	for _, field := range fields {
		field.Editable = field.Editable && isRecorded
		if c := changeOf(field, factsOf(field, w.Sender.Writer)); c.Decision.Verdict == Keep {
			changes = append(changes, c)
		}
	}
	if out, err = rewrite(w, slices.Concat(changes, stale(w), recorded)); err != nil {
		return out, err
	}
	removed, err := removedBy(w, context, out.Changes)
	out.Changes = append(out.Changes, removed...)
	return out, err
}

// record returns the change of ownership.AppliedAnnotation, none if the write needs none. isRecorded reports whether it then has the values
// that the manifest sets.
func record(w ownership.Write, context ownership.ObjectContext) (changes []Change, isRecorded bool, err error) {
	text, changed, err := context.AppliedValues(w)
	isRecorded = string(text) != ownership.NothingApplied
	if err != nil || !changed {
		return nil, isRecorded, err
	}
	value, err := json.Marshal(string(text))
	return []Change{{Path: ownership.AppliedPath(), To: value, Decision: Decision{Verdict: Record}}}, isRecorded, err
}

// removedBy returns the values of other managers that the write removes, other than those that are kept or reported already.
func removedBy(w ownership.Write, context ownership.ObjectContext, decided []Change) (removed []Change, err error) {
	fields, err := context.RemovedFields(w)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	known := &fieldtree.Tree{}
	for _, c := range decided {
		known.Add(c.Path)
	}
	for _, field := range fields {
		c := changeOf(field, factsOf(field, w.Sender.Writer))
		if c.Decision.Verdict == Removed && !known.Has(c.Path) {
			removed = append(removed, c)
		}
	}
	return removed, nil
}

// rewrite carries out the decisions, unless there is nothing to do but to warn. The outcome does not list fields that need no change.
func rewrite(w ownership.Write, changes []Change) (Outcome, error) {
	acts := func(c Change) bool { return c.Decision.Verdict != Warn }
	if !slices.ContainsFunc(changes, acts) || takesOver(w) {
		return Outcome{Changes: slices.DeleteFunc(slices.Clone(changes), acts)}, nil
	}
	out, err := Rewrite(w, changes)
	if err != nil {
		return Outcome{}, fmt.Errorf("carrying out %d decisions: %w", len(changes), err)
	}
	return out, nil
}

// takesOver reports whether a write changes nothing but managedFields and the last-applied annotation, and removes fields from an
// entry of another manager. That is how kubectl migrates an object from client-side to server-side apply, and how Flux takes over the
// fields that kubectl wrote (fluxcd/pkg/ssa, PatchReplaceFieldsManagers). No client does that to entries of subresources.
func takesOver(w ownership.Write) bool {
	loses := func(p ownership.Pair) bool {
		sender := w.Sender.Entry // which has an entry for each version that it has used
		isSenders := p.Live.Manager == sender.Manager && p.Live.Operation == sender.Operation
		return p.InLive && p.Live.Subresource == "" && !isSenders && !bytes.Equal(p.Live.Fields.Text(), p.Incoming.Fields.Text())
	}
	for pair := range ownership.Pairs(w.LiveEntries, w.IncomingEntries) {
		if !loses(pair) {
			continue
		}
		return jsontree.EqualBut(w.Live.At(), w.Incoming.At(), generated(w)...)
	}
	return false
}

// checkScale returns ErrNotAnInteger unless the scale field's values are valid replicas, nonnegative int32s
// (k8s.io/api/autoscaling/v1, ScaleSpec), so that warnings and events quote nothing but numbers. A missing or null incoming
// value is valid: the write drops the field.
func (c Change) checkScale() error {
	if !c.Field.Scale {
		return nil
	}
	incoming := string(c.Incoming)
	if incoming == "" || incoming == "null" {
		incoming = "0"
	}
	for _, value := range []string{string(c.Value()), incoming} {
		if _, err := strconv.ParseUint(value, 10, 31); err != nil {
			return ErrNotAnInteger
		}
	}
	return nil
}

// writeOf reads the managedFields, the sender and the manifests of a write, and what is known of its object without its scaler.
// invalid is the error about paths in its annotation.
func (d Decider) writeOf(r Request) (w ownership.Write, context ownership.ObjectContext, invalid, err error) {
	w = ownership.Write{Live: r.Live, Incoming: r.Incoming, Kind: r.Kind, DryRun: r.DryRun}
	w.Managers, invalid = d.managersFor(r)
	if w.LiveEntries, err = r.Live.Entries(); err != nil {
		return w, context, invalid, fmt.Errorf("oldObject: %w", err)
	}
	w.LiveEntries = ownership.Joined(w.LiveEntries)
	if w.IncomingEntries, err = r.Incoming.Entries(); err != nil {
		return w, context, invalid, fmt.Errorf("object: %w", err)
	}
	w.Sender = w.SentBy(r.FieldManager)
	if w.Sender.Writer == ownership.Applier {
		w.Manifests = w.Managers.ManifestsOf(w.Sender, r.Live, r.Incoming, w.LiveEntries)
	}
	context.Managers = w.Managers
	context.Scale = d.Cluster.ScalePath(r.Kind.Group, r.Kind.Version, r.Kind.Kind)
	return w, context, invalid, nil
}

// scalerOf looks up the scaler of a write's object, and completes the context with it.
func (d Decider) scalerOf(r Request, context *ownership.ObjectContext, live []ownership.Entry) (scaler ownership.Scaler) {
	if context.Scale == nil || r.Live.Value(context.Scale) == nil {
		return scaler
	}
	scaler = d.Cluster.Scaler(r.Namespace, r.Kind.Group, r.Kind.Kind, r.Name)
	context.Autoscaler = scaler.Owner(context.Scale, r.Live, live, context.Managers)
	context.Managers.Readable = scaler.Readable
	if scaler.Name == "" {
		context.Autoscaler = nodeGroupScaler(r)
	}
	return scaler
}

// nodeGroupScaler returns the scaler of a node group. The incoming object decides as well: a manifest that removes the
// annotations takes the scale field back, and one that adds them can still set it.
func nodeGroupScaler(r Request) string {
	kind := r.Kind.GroupKind()
	if ownership.NodeGroupScaler(kind, r.Incoming) == "" {
		return ""
	}
	return ownership.NodeGroupScaler(kind, r.Live)
}
