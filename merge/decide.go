package merge

import (
	"errors"
	"fmt"
	"strconv"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

var (
	// ErrNotAnInteger is returned if a value of the scale field is not an integer from 0 to the maximum of int32.
	ErrNotAnInteger = errors.New("the scale field is not an integer")
	// ErrBudget is returned if a write needs more work than Request.Meter allows.
	ErrBudget = errors.New("the work budget is exhausted")
)

// Request is a write to an object, not to one of its subresources, as an admission webhook sees it.
type Request struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// FieldManager is the one in the request's options, or empty.
	FieldManager string
	// Live is the stored object, the zero Object if the write creates it. Incoming is the object about to be stored.
	Live, Incoming ownership.Object
	// Meter limits the work; nil sets no limit. If it ends the work, the error is ErrBudget.
	Meter ownership.Meter
}

// Outcome is the result of the decisions on a write. The zero Outcome does not modify the write.
type Outcome struct {
	// Changes are the fields that do not get the value that the writer sent, and the fields to warn the writer about.
	Changes []Change
	// Operations are a JSON patch (RFC 6902) on the incoming object.
	Operations []jsonpatch.Operation
	// InvalidPaths is the error about the paths in annotation ownership.ControllerFieldsAnnotation that do not parse and are
	// ignored; nil if all parse.
	InvalidPaths error
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
	Rules    []ownership.Rule
}

// Decide decides on each contested field of a write, and returns the changes and the patch. The error is ErrNotAnInteger,
// ErrBudget, ErrNotRestored, ownership.ErrManagedFields or ownership.ErrLastApplied.
func (d Decider) Decide(r Request) (Outcome, error) {
	spent := &budget{spend: r.Meter}
	if r.Meter != nil {
		r.Meter = spent.count
	}
	decide := d.decideWrite
	if !r.Live.Present() {
		decide = d.decideCreate
	}
	out, err := decide(r)
	if spent.over {
		return Outcome{InvalidPaths: out.InvalidPaths}, ErrBudget
	}
	return out, err
}

// budget records that the meter has ended the work. After that, neither results nor errors are valid.
type budget struct {
	spend ownership.Meter
	over  bool
}

func (m *budget) count(steps int) bool {
	m.over = m.over || !m.spend(steps)
	return !m.over
}

func (d Decider) decideWrite(r Request) (out Outcome, err error) {
	w, err := d.writeOf(r)
	if err != nil {
		return out, err
	}
	if w.Sender.Writer == ownership.OtherWriter {
		return out, nil // row 10: nothing to do, so return before any work
	}
	context := d.contextOf(r, w)
	context.Controlled, out.InvalidPaths = ownership.ControllerPatterns(r.Kind.GroupKind(), d.Rules, r.Incoming)
	var scaler ownership.Scaler
	var fields []ownership.ContestedField
	if !context.Undisputed(w) {
		context, scaler = d.withScaler(context, r, w)
		if fields, err = context.ContestedFields(w); err != nil {
			return out, err
		}
	}
	var keep []Change
	for _, field := range fields {
		facts := factsOf(field, w.Sender.Writer)
		facts.OffAtZero = scaler.OffAtZero && field.Scale && facts.Owner == ownership.Autoscaler && string(field.Live) == "0"
		c := changeOf(field, facts)
		switch {
		case c.Decision.Verdict == Keep:
			keep = append(keep, c)
		case c.Decision.Verdict == Warn && c.Field.Changed:
			out.Changes = append(out.Changes, c)
		default:
			continue
		}
		if err := c.checkScale(); err != nil {
			return Outcome{}, err
		}
	}
	rewritten, err := rewrite(w, context, keep, stale(w, context))
	out.Changes, out.Operations = append(out.Changes, rewritten.Changes...), rewritten.Operations
	return out, err
}

// rewrite carries out the decisions. The outcome does not list fields that need no change.
func rewrite(w ownership.Write, context ownership.ObjectContext, keep, stale []Change) (out Outcome, err error) {
	if len(keep)+len(stale) == 0 {
		return out, nil
	}
	kept := make([]Kept, len(keep))
	for i, c := range keep {
		kept[i] = Kept{Path: c.Path, Scale: c.Field.Scale, ScaleIn: context.ScaleIn}
		if c.Decision.Verdict == Start {
			kept[i].Value = c.Value()
		}
	}
	rewritten, err := Rewrite(w, kept, pathsOf(stale))
	if err != nil {
		return out, fmt.Errorf("keeping %d fields, clearing %d: %w", len(keep), len(stale), err)
	}
	for i, c := range keep {
		reason, overruled := rewritten.Overruled[i]
		switch {
		case overruled:
			out.Changes = append(out.Changes, c.yielding(reason))
		case !rewritten.Gone[i] && len(rewritten.Operations) > len(stale):
			out.Changes = append(out.Changes, c)
		}
	}
	out.Changes = append(out.Changes, stale...)
	out.Operations = rewritten.Operations
	return out, nil
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

// writeOf reads the managedFields, the sender and the manifests of a write.
func (d Decider) writeOf(r Request) (w ownership.Write, err error) {
	w = ownership.Write{Live: r.Live, Incoming: r.Incoming, Kind: r.Kind, Managers: d.managersFor(r), Meter: r.Meter}
	if w.LiveEntries, err = r.Live.Entries(); err != nil {
		return w, fmt.Errorf("oldObject: %w", err)
	}
	if w.IncomingEntries, err = r.Incoming.Entries(w.LiveEntries...); err != nil {
		return w, fmt.Errorf("object: %w", err)
	}
	w.Sender = w.SentBy(r.FieldManager)
	if w.Sender.Writer == ownership.Applier {
		w.Manifests, err = w.Managers.ManifestsOf(w.Sender, r.Live, r.Incoming, w.LiveEntries)
	}
	return w, err
}

func pathsOf(changes []Change) []fieldpath.Path {
	paths := make([]fieldpath.Path, len(changes))
	for i, c := range changes {
		paths[i] = c.Path
	}
	return paths
}
