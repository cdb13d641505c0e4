// Package merge decides what becomes of a field that an applier and another owner both have a say in, and rewrites the
// incoming object accordingly: the field's value, the recorded last-applied and metadata.managedFields.
//
// It holds the decision table of docs/decisions.md (Decide), the table of stale defaults (Contradictions) and the rewriting
// that a decision asks for (Keep, Clear). It emits JSON patch operations directly from the texts at hand; whole objects are
// compared only where a write has deleted a kept field, to know whether it changes anything else.
//
// Beside that stand the merges themselves, for those who have no API server that has merged before: ThreeWay as kubectl
// apply does it, TwoWay as kustomize does, both with a Schema that says how each place merges.
//
// Like ownership the package knows no HTTP, no client and no clock.
package merge
