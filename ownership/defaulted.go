package ownership

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// Defaulted reports whether no manager has declared the field at path of live, as far as that is recorded. live are the
// managedFields of the live object.
//
// A manager can manage a field without having declared it: the manager that creates an object by an update, as client-side
// apply does, also manages the fields that the API server sets by defaulting
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). What such a manager has declared is
// recorded in two cases: the manifests of the sender of this write, and the last-applied annotation of the manager that wrote
// it. All other managers count as having declared the field.
func (m Manifests) Defaulted(path fieldpath.Path, live []Entry) bool {
	if declared := m.On(path); declared != (Declared{}) {
		return false
	}
	applied, _ := m.live.LastAppliedManifest()
	lastAppliedLacks := applied != nil && declarationIn(applied, path) == Lacks
	for _, e := range managedfields.For(live, path) {
		own := e.Operation == OperationUpdate && e.Same(m.sender.Entry)
		recorded := e.Operation == OperationUpdate && e.Contains(LastAppliedPath())
		if !own && (!recorded || !lastAppliedLacks) {
			return false
		}
	}
	return true
}
