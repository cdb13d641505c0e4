// Package ownership answers who owns a field of a live object, and who writes.
//
// It reads what Kubernetes itself records about that: the last-applied annotation of client-side apply, and
// metadata.managedFields of every write. To these come the autoscalers that target an object and the rules of the
// configuration, which the caller passes in. The package knows no HTTP, no client and no clock, and builds no objects:
// an object stays the JSON text it came as, and only the places where ownership is recorded are read.
//
// The words are those of docs/decisions.md: live is the object as stored, incoming the object as the API server is about
// to store it, base the manifest applied last and manifest the one being applied now.
package ownership
