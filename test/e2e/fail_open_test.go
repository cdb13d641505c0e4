package e2e_test

import (
	"testing"
)

// TestInvalidLastAppliedFailsOpen verifies on the real API server that a write that handoff cannot parse is stored.
func TestInvalidLastAppliedFailsOpen(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "7", "--server-side", "--force-conflicts")
	r := n.kubectl("patch", "deployment", "web", "--field-manager=argocd-controller", "-o", "jsonpath={.spec.replicas}", "-p",
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{broken"}},"spec":{"replicas":3}}`)
	n.wantWarnings(r, "skipped, annotation last-applied-configuration is not valid JSON: the write was not modified")
	if r.stdout != "3" {
		t.Errorf("replicas: got %s, want 3", r.stdout)
	}
}
