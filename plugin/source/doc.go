// Package source is what the commands of kubectl handoff read: objects, and what is known about them beyond themselves, of
// a cluster or of files. What cannot be found out is no error but a gap, which makes the answers partial.
package source
