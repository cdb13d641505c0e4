package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

const patience = 60 * time.Second

// kubeconfigVariable names a cluster that has the webhook installed, to run the suite against. Without it, the suite
// starts a control plane of its own and the webhook beside it.
const kubeconfigVariable = "E2E_KUBECONFIG"

// cluster is what all tests of the suite share.
var cluster struct {
	Plane *controlplane.Plane
	// Webhook is the one under test, wherever it runs.
	Webhook interface {
		Metrics(ctx context.Context) (string, error)
		Log() string
	}
	client  client.Client
	gadgets sync.Once
	// foretold counts the applies that kubectl handoff preview was compared with.
	foretold atomic.Int64
	stop     func() error
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if err := start(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			_ = stop() // what kept it from starting tells more
			return 1
		}
		code := m.Run()
		fmt.Fprintln(os.Stderr, "e2e: applies that were compared with what was foretold:", cluster.foretold.Load())
		if err := stop(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
		return code
	}())
}

func start() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if kubeconfig := os.Getenv(kubeconfigVariable); kubeconfig != "" {
		err = connect(ctx, kubeconfig)
	} else {
		err = startBeside(ctx)
	}
	if err != nil {
		return err
	}
	config := rest.CopyConfig(cluster.Plane.Config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if cluster.client, err = client.New(config, client.Options{}); err != nil {
		return err
	}
	return installGuard(ctx)
}

// startBeside starts a control plane, and the webhook as a process beside it.
func startBeside(ctx context.Context) error {
	started, err := handofftest.StartCluster(ctx, os.Stderr)
	if err != nil {
		return err
	}
	cluster.Plane, cluster.Webhook, cluster.stop = started.Plane, started.Webhook, started.Stop
	return started.Webhook.Register(ctx)
}

// connect takes a cluster as it is.
func connect(ctx context.Context, kubeconfig string) (err error) {
	if cluster.Plane, err = controlplane.Connect(kubeconfig); err != nil {
		return err
	}
	cluster.stop = cluster.Plane.Stop
	installed, err := handofftest.InCluster(ctx, cluster.Plane)
	if err != nil {
		return err
	}
	cluster.Webhook = installed
	return nil
}

func stop() error {
	if cluster.stop == nil {
		return errors.New("nothing has been started")
	}
	return cluster.stop()
}

// besideOnly skips a test that starts webhooks of its own, which a cluster elsewhere could not reach.
func besideOnly(t *testing.T) {
	t.Helper()
	if cluster.Plane.Elsewhere() {
		t.Skip("it starts processes beside the API server, with users that this one does not know")
	}
}
