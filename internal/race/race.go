//go:build !race

// Package race tells tests whether the race detector is on. It multiplies time and memory by factors of its own, so that
// tests of how these grow run without it: `make test` runs them apart.
package race

// Enabled reports whether the race detector is on.
const Enabled = false
