// Package plugin has no code but its tests: kubectl handoff against a real control plane, with the real autoscaler.
package plugin
