// Package merge decides what becomes of the fields of an object that several parties write, and carries that out: on a write
// that the API server has merged already, or on a three-way merge.
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
// The sub-packages merge objects themselves, and know nothing of admission: threeway as kubectl apply does, twoway as
// kustomize does, by the schemas of package schema. Owners apply the decision table to a three-way merge.
package merge
