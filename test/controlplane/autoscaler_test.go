package controlplane_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

func TestAutoscalerScalesDeployment(t *testing.T) {
	controlPlane := controlplane.ForTest(t, controlplane.Options{})
	// The test must not reach the cluster of the developer's own kubeconfig.
	t.Setenv("KUBECONFIG", "/no/such/file")
	kubectl(t, controlPlane, "create", "deployment", "web", "--image=registry.invalid/web", "--replicas=3")
	eventually(t, controlPlane, "3", "get", "deployment", "web", "-o", "jsonpath={.status.replicas}")

	kubectl(t, controlPlane, "autoscale", "deployment", "web", "--min=7", "--max=20")
	began := time.Now()
	eventually(t, controlPlane, "7", "get", "deployment", "web", "-o", "jsonpath={.status.replicas}")
	t.Logf("scaled to 7 after %v", time.Since(began).Round(100*time.Millisecond))

	managers := kubectl(t, controlPlane, "get", "deployment", "web", "--show-managed-fields",
		"-o", `jsonpath={.metadata.managedFields[?(@.subresource=="scale")].manager}`)
	if managers != "kube-controller-manager" {
		t.Errorf("scaled by %q", managers)
	}
	// Check the other controllers that create and delete the contents of a namespace.
	eventually(t, controlPlane, "kube-root-ca.crt", "get", "configmaps", "-o", "jsonpath={.items[*].metadata.name}")
	eventually(t, controlPlane, "default", "get", "serviceaccounts", "-o", "jsonpath={.items[*].metadata.name}")
	kubectl(t, controlPlane, "create", "namespace", "short-lived")
	kubectl(t, controlPlane, "delete", "namespace", "short-lived", "--timeout=60s")
}

// kubectl runs a command that must succeed, and returns what it prints.
func kubectl(t *testing.T, controlPlane *controlplane.ControlPlane, args ...string) string {
	t.Helper()
	output, err := exec.Command(controlPlane.Kubectl, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

// eventually waits until a command prints the wanted text.
func eventually(t *testing.T, controlPlane *controlplane.ControlPlane, want string, args ...string) {
	t.Helper()
	var got string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if got = kubectl(t, controlPlane, args...); got == want {
			return
		}
	}
	t.Fatalf("kubectl %s: want %s, got %s", strings.Join(args, " "), want, got)
}
