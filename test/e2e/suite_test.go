// Package e2e drives the real kubectl against a real API server, the real HPA controller and the real webhook, through
// every decision of docs/decisions.md.
package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// patience is how long anything that another process does may take here.
const patience = 60 * time.Second

// cluster is what the tests share: they run side by side, each in a namespace of its own.
var cluster struct {
	plane   *controlplane.Plane
	webhook *handofftest.Webhook
	client  client.Client
	gadgets sync.Once
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if err := start(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			_ = stop()
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

// stop ends the webhook first: the API server waits for those who watch.
func stop() error {
	var errs []error
	if cluster.webhook != nil {
		errs = append(errs, cluster.webhook.Stop())
	}
	if cluster.plane != nil {
		errs = append(errs, cluster.plane.Stop())
	}
	return errors.Join(errs...)
}

func start() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if cluster.plane, err = controlplane.Start(ctx, controlplane.Options{Output: os.Stderr}); err != nil {
		return err
	}
	if cluster.webhook, err = handofftest.Start(ctx, cluster.plane, handofftest.Options{}); err != nil {
		return err
	}
	config := rest.CopyConfig(cluster.plane.Config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if cluster.client, err = client.New(config, client.Options{}); err != nil {
		return err
	}
	return cluster.webhook.Register(ctx)
}
