// Package plugin tests kubectl handoff on a real control plane, with the real autoscaler. It contains only tests.
package plugin
