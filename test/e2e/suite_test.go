// Package e2e drives the real kubectl against a real API server, the real HPA controller and the real webhook, through
// every decision of docs/decisions.md.
package e2e_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// patience is how long anything that another process does may take here.
const patience = 60 * time.Second

// cluster is what the tests share: they run side by side, each in a namespace of its own.
var cluster struct {
	*handofftest.Cluster
	client  client.Client
	gadgets sync.Once
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if err := start(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			_ = stop() // what kept it from starting tells more
			return 1
		}
		code := m.Run()
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
	if cluster.Cluster, err = handofftest.StartCluster(ctx, os.Stderr); err != nil {
		return err
	}
	config := rest.CopyConfig(cluster.Plane.Config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if cluster.client, err = client.New(config, client.Options{}); err != nil {
		return err
	}
	if err := installGuard(ctx); err != nil {
		return err
	}
	return cluster.Webhook.Register(ctx)
}

func stop() error {
	if cluster.Cluster == nil {
		return nil
	}
	return cluster.Stop()
}
