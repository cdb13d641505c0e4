package ownership

import (
	"errors"
	"slices"
	"strconv"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/scale"
)

// ScaleField returns the scale field of a write that has a live object, with its owner. It needs nothing but the values of the
// field, its managedFields entries and what the manifests declare for it, so that nothing else in the write can prevent the
// decision. ok is false if live does not have the field.
func (w Write) ScaleField() (f ContestedField, ok bool) {
	f = ContestedField{Path: w.Scale, Scale: true, Live: w.Live.Value(w.Scale), Incoming: w.Incoming.Value(w.Scale)}
	if IsUnset(f.Live) {
		return f, false
	}
	s := scaleField{write: w, field: &f}
	if w.Sender.Writer == Applier {
		s.declare()
	}
	applied, base := w.appliedValues(), w.Manifests.BaseValue(w.Scale)
	f.Owner = s.owner(applied, base)
	f.Removed = w.Sender.Writer == Applier && s.isRemoved()
	applied.setEdited(&f, w.Managers.RulesFor(f.Path), base)
	if !w.Manifests.Recorded && mayBeUnset(f.Incoming) {
		f.Edited = false // Helm 3, and server-side apply of null, do not record whether the manifest sets 1
	}
	return f, true
}

// defaultReplicas is the API server's default for replicas (k8s.io/api/apps/v1, DeploymentSpec).
const defaultReplicas = "1"

// scaleField is the scale field of a write, with what ScaleField returns of it.
type scaleField struct {
	write Write
	field *ContestedField
}

// ErrNotAnInteger is returned if a value of the scale field is not an integer from 0 to the maximum of int32.
var ErrNotAnInteger = errors.New("the scale field is not an integer")

// Replicas parses a number of replicas, a nonnegative int32 (k8s.io/api/autoscaling/v1, ScaleSpec). The error is ErrNotAnInteger.
func Replicas(text []byte) (int64, error) {
	n, err := strconv.ParseUint(string(text), 10, 31)
	if err != nil {
		return 0, ErrNotAnInteger
	}
	return int64(n), nil
}

// mayBeUnset reports whether the incoming object has no value of the field, or the default for it.
func mayBeUnset(incoming []byte) bool {
	return IsUnset(incoming) || string(incoming) == defaultReplicas
}

// declare sets how the manifests declare the field.
func (s scaleField) declare() {
	m, f := s.write.Manifests, s.field
	if s.write.Sender.ServerSide() {
		f.Declared.Manifest = setsIf(s.write.ManagesScale(s.write.Sender.Entry))
		f.Declared.Base = setsIf(s.write.ManagesScale(s.write.Sender.Was))
		return
	}
	f.Declared = s.write.Declared(f.Path)
	switch {
	case len(f.Incoming) == 0 && f.Declared.Manifest == Sets:
		// The annotation is the manifest of another write, or there is none: Helm 3 records none.
	case f.Declared.Manifest == Clears && m.sameText() && f.Changed() && !mayBeUnset(f.Incoming):
		f.Declared.Manifest = Sets // the annotation is not that of this write: null never means another number
		return
	case !m.Recorded && m.Unread != nil && mayBeUnset(f.Incoming):
	default:
		return
	}
	f.Declared.Manifest = Lacks
}

// isRemoved reports whether a write whose manifests both lack the field removes it. If the base can be read and no controller
// owns the field, another value than the default was set by another admission plugin.
func (s scaleField) isRemoved() bool {
	f := s.field
	if f.Declared != (Declared{}) || !f.Changed() {
		return false
	}
	noBase := !s.write.Sender.ServerSide() && s.write.Manifests.base == nil
	return noBase || mayBeUnset(f.Incoming) || f.Owner.Kind >= Controller
}

// owner returns the field's owner, given the value of the base, nil if it has none.
func (s scaleField) owner(applied appliedValues, base []byte) FieldOwner {
	w, f := s.write, s.field
	// A manifest that sets the 0 of live, now or before (ScalerThatOwns), switches the autoscaler off, and can switch it on again.
	setsZero := string(f.Incoming) == "0" && f.Declared.Manifest == Sets
	rules := w.Managers.RulesFor(f.Path)
	switch {
	case w.isOff(f.Path, f.Live) && (setsZero || w.Autoscaler == ""):
		rules = nil // nor can a controller of a rule keep it off
	case w.Autoscaler != "":
		return FieldOwner{Kind: Autoscaler, By: w.Autoscaler}
	}
	managers := slices.DeleteFunc(slices.Clone(w.LiveEntries), func(e Entry) bool { return !w.ManagesScale(e) })
	isBase := apitypes.SameValue(base, f.Live)
	if rule := ruleUnrecorded(rules, managers, f.Live, isBase); rule != nil {
		return FieldOwner{Kind: Controller, Rule: rule.Name}
	}
	isApplied, isUnapplied := applied.status(f.Path, f.Live, isBase)
	owner, _ := w.ownerOf(managedField{
		path: f.Path, entries: managers, without: f.Declared.ownerWithoutEntry(), rules: rules, isApplied: isApplied, isUnapplied: isUnapplied,
	})
	return owner
}

// ruleUnrecorded returns the rule whose controller owns a scale field that no entry contains, nil if none does: a write of 0 through /scale
// leaves no entry, and neither do later ones. It is the first rule, unless that names its writers and lets an edit win: then they own only
// what an entry says is theirs, as a person or a scaler that is deleted can have set the rest, and the first rule without named writers decides.
func ruleUnrecorded(rules []*Rule, entries []Entry, live []byte, isBase bool) *Rule {
	isRecorded := len(entries) > 0 || isBase || string(live) == defaultReplicas
	for i, r := range rules {
		if !isRecorded && (r.isOpen() || i == 0 && r.Edit != EditApply) {
			return r
		}
	}
	return nil
}

// ScalerThatOwns returns the name of the scaler that owns the scale field of live, "" if none does. base is the field's value in the base
// as JSON, nil if it has none. If 0 replicas switch the scaler off, and an applier manages them or the base sets them, the manifest owns
// them, and can switch it on again. A write of 0 through /scale, as of kubectl scale, removes the field from the entries of appliers.
//
// A node group has a scaler without a reference. The incoming object decides as well: a manifest that removes the annotations takes the
// scale field back, and one that adds them can still set it.
func (w Write) ScalerThatOwns(base []byte) string {
	kind := w.Kind.GroupKind()
	if w.Scaler.Name == "" && scale.NodeGroupScaler(kind, w.Incoming.At()) != "" {
		return scale.NodeGroupScaler(kind, w.Live.At())
	}
	isApplied := func(e Entry) bool { return w.Managers.IsApplier(e) && w.ManagesScale(e) }
	if w.isOff(w.Scale, w.Live.Value(w.Scale)) && (string(base) == "0" || slices.ContainsFunc(w.LiveEntries, isApplied)) {
		return ""
	}
	return w.Scaler.Name
}
