// Package merge decides which of the fields that several managers write an apply may change, and rewrites the write
// accordingly.
//
// The terms are those of docs/decisions.md: live is the stored object, incoming the object that the API server is about to
// store, base the last-applied configuration, and manifest the configuration being applied. Package ownership determines
// who owns a field. Neither package uses HTTP, a client or a clock: a Cluster passes in what a decision needs to know about
// other objects.
//
// Decider.Decide takes a write, as an admission webhook sees it, through the decision table. It finds the contested fields,
// which both the manifest and another owner can set, and looks up each (Lookup). Rewrite carries out the decisions without decoding
// whole objects. The Outcome has the changed fields with their reasons, and a JSON patch on the incoming object (EncodePatch).
//
// The packages threeway and twoway merge objects as kubectl apply and kustomize do. They know nothing of owners and of
// admission. Package schema describes how each field merges.
package merge
