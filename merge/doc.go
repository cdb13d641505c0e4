// Package merge decides what becomes of the fields of an object that several parties write, and carries that out: on a write
// that the API server has merged already, or by merging itself.
//
// The words are those of docs/decisions.md: live is the object as stored, incoming the object as the API server is about to
// store it, base the manifest applied last and manifest the one being applied now. Whose a field is, package ownership says.
// Like ownership the package knows no HTTP, no client and no clock.
//
// # A write that has been merged
//
// An admission webhook sees live and incoming. For each field that the manifest and another owner both have a say in, Decide
// looks a Field up in the decision table and returns a Verdict. A Write carries verdicts out: Clear for defaults that
// contradict the manifest (Contradictions finds them), Keep for what is to stay as it is in live. Both return JSON patch
// operations for EncodePatch:
//
//	Write -> Field -> Decide -> Clear, Keep -> EncodePatch
//
// Keep restores the field's value, its claims in metadata.managedFields and what last-applied says of it. The operations are
// made directly of the texts at hand; whole objects are compared only where a write has deleted a kept field, to know whether
// it changes anything else.
//
// # A merge
//
// For those who have no API server that has merged before: ThreeWay merges a manifest into live as kubectl apply does, with
// owners as an option; TwoWay merges a source over a destination as kustomize does. Both come for decoded values and, with
// JSON behind the name, for texts; the latter keep what they do not change as it is written. docs/merge.md has their tables.
//
// How each place of an object merges, a Schema says. Types makes one of a Go type of Kubernetes (Types.Of) or of a
// CustomResourceDefinition (Types.CustomResource); JSONMergePatch and Inferred are for kinds that nothing is known of. What
// cannot be merged is an InputError.
package merge
