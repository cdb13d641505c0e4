// Package guard holds manifests/guard against a real API server and the real HPA controller, without any webhook: what the
// guard keeps while every pod of handoff is down, and what it lets through.
package guard_test

import (
	"context"
	"errors"
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
	os.Exit(func() int {
		err := start()
		code := 1
		if err == nil {
			code = m.Run()
		}
		if cluster.plane != nil {
			err = errors.Join(err, cluster.plane.Stop())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "guard:", err)
			return 1
		}
		return code
	}())
}

func start() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if cluster.root, err = controlplane.Root(); err != nil {
		return err
	}
	if cluster.plane, err = controlplane.Start(ctx, controlplane.Options{Output: os.Stderr}); err != nil {
		return err
	}
	if cluster.client, err = clientOf(""); err != nil {
		return err
	}
	guard := filepath.Join(cluster.root, "manifests", "guard")
	if out, err := exec.CommandContext(ctx, cluster.plane.Kubectl, "apply", "-k", guard, "--validate=strict").CombinedOutput(); err != nil {
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
