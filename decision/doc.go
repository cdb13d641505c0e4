// Package decision takes a write through ownership and merge: which of its fields are contested, who owns each, what the
// decision table says of it (docs/decisions.md), and which operations carry that out. The webhook asks it about reviews,
// kubectl handoff about what an apply would do. It knows no HTTP, no client and no mode.
package decision
