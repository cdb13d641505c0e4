package handofftest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func TestWebhookIsCalledFromRegisterUntilUnregister(t *testing.T) {
	controlPlane, webhook := startStub(t)
	api, err := client.New(controlPlane.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Repeat, because a race with a delayed effect often passes once.
	for range 5 {
		if seen(t, api) {
			t.Error("the API server calls the webhook before it is registered")
		}
		if err := webhook.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !seen(t, api) {
			t.Error("the API server does not call the webhook after Register")
		}
		if err := webhook.Unregister(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if metrics, err := webhook.Metrics(t.Context()); err != nil || metrics != "stub_metric 1\n" {
		t.Errorf("metrics: %q, %v", metrics, err)
	}
	if log := webhook.Log(); log != "stub: starting\n" {
		t.Errorf("log: %q", log)
	}
	if err := webhook.Stop(); err != nil {
		t.Error(err)
	}
}

func TestWebhookIsTerminatedWithItsControlPlane(t *testing.T) {
	controlPlane, webhook := startStub(t)
	if err := controlPlane.Stop(); err != nil {
		t.Fatal(err)
	}
	if metrics, err := webhook.Metrics(t.Context()); err == nil {
		t.Errorf("the webhook still answers: %s", metrics)
	}
}

func TestFailedStartReturnsTheReason(t *testing.T) {
	controlPlane := startControlPlane(t)
	t.Run("the binary is missing", func(t *testing.T) {
		options := stub()
		options.Binary = filepath.Join(t.TempDir(), "handoff-webhook")
		_, err := handofftest.Start(t.Context(), controlPlane, options)
		if err == nil || !strings.Contains(err.Error(), "run make build") {
			t.Errorf("want the make target, got: %v", err)
		}
	})
	t.Run("it exits immediately", func(t *testing.T) {
		t.Setenv(stubVariable, "broken")
		_, err := handofftest.Start(t.Context(), controlPlane, stub())
		if err == nil || !strings.Contains(err.Error(), "stub: broken on purpose") {
			t.Errorf("want the end of its log, got: %v", err)
		}
	})
}

func stub() handofftest.Options {
	return handofftest.Options{Binary: os.Args[0], Manifests: "testdata"}
}

func startControlPlane(t *testing.T) *controlplane.ControlPlane {
	t.Helper()
	return controlplane.ForTest(t, controlplane.Options{WithoutControllerManager: true})
}

// startStub starts a control plane and a process that stands in for the webhook.
func startStub(t *testing.T) (*controlplane.ControlPlane, *handofftest.Webhook) {
	t.Helper()
	t.Setenv(stubVariable, "yes")
	controlPlane := startControlPlane(t)
	webhook, err := handofftest.Start(t.Context(), controlPlane, stub())
	if err != nil {
		t.Fatal(err)
	}
	return controlPlane, webhook
}

// seen reports whether a write goes through the webhook.
func seen(t *testing.T, api client.Client) bool {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: metav1.NamespaceDefault}}
	if err := api.Create(t.Context(), secret, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	return secret.Annotations[mark] == "yes"
}
