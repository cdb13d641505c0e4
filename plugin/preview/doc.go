// Package preview predicts what kubectl apply of a manifest does to its live object, field by field, without and with handoff.
// A dry run of the API server, or threeway.MergeJSON without one, determines the result of the apply alone. Package merge, which
// also decides in the webhook, determines the result with handoff.
package preview
