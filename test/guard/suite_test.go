// Package guard tests manifests/guard on a real API server with the real HPA controller and without the webhook: it verifies
// which fields the guard keeps while all pods of handoff are down, and which writes pass.
package guard_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/objects"
)

// patience is the timeout for anything that another process does.
const patience = 60 * time.Second

// cluster is shared by the tests, which run in parallel, each in its own namespace.
var cluster struct {
	root         string
	controlPlane *controlplane.ControlPlane
	client       client.Client
	reader       *objects.Reader
}

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m.Run, os.Stderr, controlplane.Options{Output: os.Stderr}, prepare))
}

func prepare(ctx context.Context, controlPlane *controlplane.ControlPlane) (err error) {
	cluster.controlPlane = controlPlane
	if cluster.root, err = controlplane.Root(); err != nil {
		return err
	}
	if cluster.client, err = clientOf(""); err != nil {
		return err
	}
	if cluster.reader, err = objects.NewReader(controlPlane.Config); err != nil {
		return err
	}
	if !controlPlane.HasMutatingPolicies() {
		return nil // each test is skipped
	}
	guard := filepath.Join(cluster.root, objects.GuardFolder(controlPlane.PoliciesVersion()))
	if out, err := exec.CommandContext(ctx, controlPlane.Kubectl, "apply", "-k", guard, "--validate=strict").CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply -k %s: %w\n%s", guard, err, out)
	}
	return nil
}

// clientOf returns a client without a field manager and with the given user agent.
func clientOf(userAgent string) (client.Client, error) {
	config := rest.CopyConfig(cluster.controlPlane.Config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.UserAgent = userAgent
	return client.New(config, client.Options{})
}
