// Package upgrade tests an upgrade of the control plane to another version of Kubernetes: manifests are applied all the time, with
// the kubectl of both versions, through whichever API servers there are.
package upgrade_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/proxy"
)

// patience is the timeout for anything that another process does.
const patience = 60 * time.Second

// rounds is how often each manifest is applied in each phase of the upgrade.
const rounds = 6

// TestAnUpgradeOfTheControlPlaneLosesNothing verifies that each apply succeeds, that it keeps what is not the manifest's, and that
// the webhook never fails open. The webhook reaches the API servers through a load balancer. The guard is installed where the old
// version has its API, and then replaced by that of the new version.
func TestAnUpgradeOfTheControlPlaneLosesNothing(t *testing.T) {
	from, to := os.Getenv("UPGRADE_FROM"), os.Getenv("UPGRADE_TO")
	if from == "" || to == "" {
		t.Skip("make e2e-upgrade runs this test, which needs control planes of two versions")
	}
	plane := controlplane.ForTest(t, controlplane.Options{Binaries: from, Output: os.Stderr})
	old := endpoint{name: plane.Version(), kubeconfig: copied(t, plane, plane.Kubeconfig)}
	balancer := proxy.StartTCP(t, hostOf(plane.Config.Host))
	hook := startWebhook(t, plane, balancer.Address)

	kubectls := []string{filepath.Join(from, "kubectl"), filepath.Join(to, "kubectl")}
	s := newStream(t, plane, old, kubectls)
	guarded := plane.HasMutatingPolicies()
	if guarded {
		s.installGuard(old, plane.PoliciesVersion())
	}
	s.play("the old API server", old)

	upgrade, err := plane.StartUpgrade(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	if plane.Version() == upgrade.Version() {
		t.Fatalf("both versions are %s", plane.Version())
	}
	joined := endpoint{name: upgrade.Version(), kubeconfig: upgrade.Kubeconfig}
	s.during("the new API server beside the old one", func() { s.waitForRounds() }, old, joined)
	s.during("the controllers are replaced", func() {
		if err := upgrade.ReplaceControllers(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.waitForRounds()
	}, old, joined)
	s.during("the load balancer leaves the old API server", func() {
		balancer.Retarget(hostOf(plane.Config.Host))
		s.waitForRounds()
	}, old, joined)
	s.during("the old API server stops", func() {
		if err := upgrade.Finish(); err != nil {
			t.Error(err)
		}
		s.waitForRounds()
	}, joined)
	if guarded {
		s.installGuard(joined, plane.PoliciesVersion())
	}
	s.scale(joined)
	s.play("the new API server, after its controllers have scaled", joined)
	s.wantTruth(joined)
	wantNoneFailedOpen(t, hook)
	t.Logf("%s to %s: %d applies", old.name, joined.name, s.applies.Load())
}

// startWebhook starts a webhook whose connections to the API server go through an address, and registers it.
func startWebhook(t *testing.T, plane *controlplane.ControlPlane, address string) *handofftest.Webhook {
	t.Helper()
	text, err := os.ReadFile(plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	balanced := filepath.Join(plane.Dir, "kubeconfig-balanced")
	text = []byte(strings.ReplaceAll(string(text), hostOf(plane.Config.Host), address))
	if err := os.WriteFile(balanced, text, 0o600); err != nil {
		t.Fatal(err)
	}
	hook, err := handofftest.Start(t.Context(), plane, handofftest.Options{Kubeconfig: balanced})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hook.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := hook.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	return hook
}

// copied copies a kubeconfig, because the control plane's own changes with the upgrade.
func copied(t *testing.T, plane *controlplane.ControlPlane, kubeconfig string) string {
	t.Helper()
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(plane.Dir, "kubeconfig-old")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// hostOf returns host:port of a URL.
func hostOf(url string) string { return strings.Trim(strings.TrimPrefix(url, "https://"), "/") }

// wantNoneFailedOpen verifies that the webhook has decided each review.
func wantNoneFailedOpen(t *testing.T, hook *handofftest.Webhook) {
	t.Helper()
	metrics, err := hook.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(metrics, "\nhandoff_decisions_total{") {
		t.Errorf("the webhook has decided nothing:\n%s", metrics)
	}
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "handoff_failed_open_total") && !strings.HasSuffix(line, " 0\n") {
			t.Errorf("failed open: %s", line)
		}
	}
}
