package optin_test

import "testing"

// TestAConditionThatAClientSendsDoesNotChangeReplicas verifies that the guard's condition has no effect where no guard is installed.
// The API server resets the status only after admission.
func TestAConditionThatAClientSendsDoesNotChangeReplicas(t *testing.T) {
	name := newNamespace(t, "enforce")
	kubectl(t, "", "create", "deployment", "web", "-n", name, "--image=registry.invalid/web", "--replicas=3")
	const patch = `{"metadata":{"annotations":{"team":"web"}},` +
		`"status":{"conditions":[{"type":"ownership-handoff.io/guarded","status":"True","message":"replicas=0"}]}}`
	r := kubectl(t, "", "patch", "deployment", "web", "-n", name, "-o", "jsonpath={.spec.replicas}", "-p", patch)
	if r.Stdout != "3" {
		t.Errorf("want 3 replicas, got %s; kubectl says %s", r.Stdout, r.Stderr)
	}
}
