//go:build !race

// Package race reports to tests whether the race detector is enabled. The detector increases time and memory by factors that
// vary, so tests of their growth only run without it: `make test` runs them separately.
package race

// Enabled reports whether the race detector is enabled.
const Enabled = false
