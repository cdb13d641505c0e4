// Package ownership determines who owns the fields of a live object, and which kind of client sends a write.
//
// It reads what Kubernetes records: the last-applied configuration of client-side apply, and metadata.managedFields. The
// caller passes in the autoscalers that target an object and the rules of the configuration. The package uses no HTTP, no
// client and no clock. It does not decode whole objects: an object stays JSON text, of which only the parts that record
// ownership are read.
//
// The terms are those of docs/decisions.md: live is the stored object, incoming the object that the API server is about to
// store, base the last-applied configuration, and manifest the configuration being applied.
//
// # All fields of an object
//
// ObjectContext.OwnedFields returns every field of one object with its owner. It needs only the object, with its managedFields:
//
//	ParseObject -> ObjectContext.OwnedFields
//
// # The contested fields of a write
//
// A Write has a live and an incoming object, each with managedFields. Read determines the field manager that sends it, the manifest and the
// base. ScaleField then returns the scale field, and a Search the fields of rules, the units and stale defaults, and what the write takes
// from other managers, each with its owner:
//
//	ParseObject -> Write.Read -> Write.ScaleField, Write.Search -> Search.Contested, AppliedValues, Removed
//
// Package merge decides on these fields.
//
// # Paths
//
// A fieldpath.Path names a field, as in managedFields. A Pattern is its text form, as the API server prints it in conflicts,
// with wildcards.
package ownership
