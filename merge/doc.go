// Package merge decides what becomes of a field that an applier and another owner both have a say in, and rewrites the
// incoming object accordingly: the field's value, the recorded last-applied and metadata.managedFields.
//
// It holds the decision table of docs/decisions.md (Decide), the table of stale defaults (Contradictions) and the rewriting
// that a decision asks for (Keep, Clear). Like ownership it knows no HTTP, no client and no clock; it emits JSON patch
// operations directly from the texts at hand and never compares whole objects.
package merge
