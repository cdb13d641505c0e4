// Package preview foretells what kubectl apply of a manifest does to its live object, without handoff and with it, field by
// field. What an apply alone does is found out by a dry run of the API server or, without one, by threeway.Merge; what
// handoff makes of that, by package decision, which decides for the webhook as well.
package preview
