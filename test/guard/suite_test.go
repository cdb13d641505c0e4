// Package guard holds manifests/guard against a real API server and the real HPA controller, without any webhook: what the
// guard keeps while every pod of handoff is down, and what it lets through.
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
)

// patience is how long anything that another process does may take here.
const patience = 60 * time.Second

// cluster is what the tests share: they run side by side, each in a namespace of its own.
var cluster struct {
	root   string
	plane  *controlplane.Plane
	client client.Client
}

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m.Run, os.Stderr, controlplane.Options{Output: os.Stderr}, prepare))
}

func prepare(ctx context.Context, plane *controlplane.Plane) (err error) {
	cluster.plane = plane
	if cluster.root, err = controlplane.Root(); err != nil {
		return err
	}
	if cluster.client, err = clientOf(""); err != nil {
		return err
	}
	guard := filepath.Join(cluster.root, "manifests", "guard")
	if out, err := exec.CommandContext(ctx, plane.Kubectl, "apply", "-k", guard, "--validate=strict").CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl apply -k %s: %w\n%s", guard, err, out)
	}
	return nil
}

// clientOf returns a client that names no field manager, and is known by its user agent.
func clientOf(userAgent string) (client.Client, error) {
	config := rest.CopyConfig(cluster.plane.Config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.UserAgent = userAgent
	return client.New(config, client.Options{})
}
