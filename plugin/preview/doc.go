// Package preview shows what kubectl apply of a manifest does to its live object, field by field, without and with handoff. Both
// are dry runs of the API server; if handoff is not on, or there is no API server, package merge decides what it would keep.
package preview
