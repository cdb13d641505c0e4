// Package ownership answers who owns a field of a live object, and who writes.
//
// It reads what Kubernetes itself records about that: the last-applied annotation of client-side apply, and
// metadata.managedFields of every write. To these come the autoscalers that target an object and the rules of the
// configuration, which the caller passes in. The package knows no HTTP, no client and no clock, and builds no objects:
// an object stays the JSON text it came as, and only the places where ownership is recorded are read.
//
// The words are those of docs/decisions.md: live is the object as stored, incoming the object as the API server is about
// to store it, base the manifest applied last and manifest the one being applied now.
//
// # All fields of an object
//
// To know whose the fields of one object are, nothing but the object is needed, with its managedFields:
//
//	ParseObject -> ObjectContext.Fields -> Fields.Of, Fields.Fold
//
// # The fields that a write has a say in
//
// Of a write there are two objects, and the entries of their managedFields. Managers sorts field managers by what they stand
// for: it tells the Author of the write, which fields a controller has written (Controlled) and which the manifest lets go
// of (LetGo). What the manifest and the base say about one of these fields, Manifests knows; whose it is in live, Context:
//
//	ParseObject, Object.Entries -> Managers.Author -> ManifestsOf -> Manifests.On
//	                                               -> Context.Resolve
//
// What is to become of the field is then for package merge to decide.
//
// Fields are named by fieldpath.Path, as managedFields name them; in text, by a Pattern, as the API server prints them in
// conflicts.
package ownership
