package ownership

import (
	"bytes"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// staleDefaults returns the defaults that an applier's manifest contradicts (row 7 of docs/decisions.md). A member that a manifest or a
// manager has declared is not one: the API server rejects the write. Nor is one that the write itself has changed.
func (w Write) staleDefaults() (found []ContestedField) {
	for _, c := range apitypes.Contradictions(w.Kind.GroupKind(), w.Live.root, w.Incoming.root) {
		isSame := bytes.Equal(w.Live.Value(c.Member), w.Incoming.Value(c.Member))
		if isSame && w.Declared(c.Choice).Manifest == Sets && w.Defaulted(c.Member) {
			// Its owner is Default, and neither manifest has it: the zero values.
			found = append(found, ContestedField{Path: c.Member, Contradicts: c.By})
		}
	}
	return found
}

// Defaulted reports whether no manager has declared the field at path of live, as far as that is recorded.
//
// A manager can manage a field without having declared it: the manager that creates an object by an update, as client-side
// apply does, also manages the fields that the API server sets by defaulting
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). What such a manager has declared is
// recorded in two cases: the manifests of the sender of this write, and the last-applied annotation of the manager that wrote
// it. All other managers count as having declared the field.
func (w Write) Defaulted(path fieldpath.Path) bool {
	if w.Declared(path) != (Declared{}) || !w.Meter.Spend(stepsPerName*len(w.LiveEntries)) {
		return false
	}
	applied, _ := w.Live.LastAppliedManifest()
	lastAppliedLacks := applied != nil && DeclarationIn(applied, path) == Lacks
	for _, e := range managedfields.For(w.LiveEntries, path) {
		own := e.Operation == managedfields.OperationUpdate && e.Same(w.Sender.Entry)
		recorded := e.Operation == managedfields.OperationUpdate && e.Contains(LastAppliedPath())
		if !own && (!recorded || !lastAppliedLacks) {
			return false
		}
	}
	return true
}
