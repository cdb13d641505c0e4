package e2e_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInvalidLastAppliedFailsOpen verifies on the real API server that a write that handoff cannot parse is stored.
func TestInvalidLastAppliedFailsOpen(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.applyServerSide(deployment("3", "app:1"))
	n.autoscale("7")
	r := n.kubectl("patch", "deployment", "web", "--field-manager=argocd-controller", "-o", "jsonpath={.spec.replicas}", "-p",
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{broken"}},"spec":{"replicas":3}}`)
	want := []string{"skipped, annotation last-applied-configuration is not valid JSON: the write was not modified"}
	if diff := cmp.Diff(want, r.warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if r.stdout != "3" {
		t.Errorf("replicas: got %s, want 3", r.stdout)
	}
}
