package handofftest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func TestWebhookIsRegisteredAsInTheManifestsAndDrains(t *testing.T) {
	controlPlane := controlplane.ForTest(t, controlplane.Options{WithoutControllerManager: true})
	webhook, err := handofftest.Start(t.Context(), controlPlane, handofftest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	kubectl(t, controlPlane, "annotate", "namespace", "default", ownership.ModeAnnotation+"=enforce")
	kubectl(t, controlPlane, "create", "deployment", "web", "--image=registry.invalid/web:1")
	kubectl(t, controlPlane, "set", "image", "deployment/web", "web=registry.invalid/web:2")

	metrics, err := webhook.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const answered = `handoff_reviews_total{result="unchanged"} `
	if !strings.Contains(metrics, answered) || strings.Contains(metrics, answered+"0\n") {
		t.Errorf("the webhook has answered no review; its log:\n%s", webhook.Log())
	}
	if err := webhook.Stop(); err != nil {
		t.Error(err)
	}
}

// kubectl runs a command that must succeed.
func kubectl(t *testing.T, controlPlane *controlplane.ControlPlane, args ...string) {
	t.Helper()
	if output, err := exec.Command(controlPlane.Kubectl, args...).CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}
