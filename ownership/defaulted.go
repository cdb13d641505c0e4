package ownership

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Defaulted says whether nobody has declared the field at path of live, as far as that is recorded: neither the manifests
// of this write nor anybody who claims it.
//
// Not every claim is a declaration. Whoever creates an object by an update, as client-side apply does, claims all that the
// API server puts in by defaulting as well
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management). Two records say what such a manager
// has declared: for the author of this write its manifests, and for the one that claims the last-applied annotation that
// annotation. The claims of all others stand: what a person or a controller may have meant is not for handoff to clear.
func (m Manifests) Defaulted(path fieldpath.Path, live []Entry) bool {
	if declared := m.On(path); declared != (Declared{}) {
		return false
	}
	text, _ := m.live.LastApplied()
	lastAppliedLacks := checkLastApplied([]byte(text)) == nil && claimIn([]byte(text), path) == Lacks
	for _, e := range Holders(live, path) {
		own := e.Operation == OperationUpdate && e.Same(m.author.Entry)
		recorded := e.Operation == OperationUpdate && e.Holds(LastAppliedPath())
		if !own && (!recorded || !lastAppliedLacks) {
			return false
		}
	}
	return true
}
