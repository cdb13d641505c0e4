// Package source reads objects, and the autoscalers, definitions and namespaces that affect them, from a cluster or from files.
// Information that cannot be read is not an error but a gap, which makes the results partial.
package source
