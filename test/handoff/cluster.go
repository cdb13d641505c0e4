package handofftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// Cluster is a control plane and this repository's webhook.
type Cluster struct {
	Plane   *controlplane.ControlPlane
	Webhook *Webhook
}

// StartCluster starts a control plane and a webhook, which the API server does not call before Webhook.Register. The caller must
// stop the cluster.
func StartCluster(ctx context.Context, options controlplane.Options) (*Cluster, error) {
	controlPlane, err := controlplane.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	webhook, err := Start(ctx, controlPlane, Options{})
	if err != nil {
		return nil, errors.Join(err, controlPlane.Stop())
	}
	return &Cluster{Plane: controlPlane, Webhook: webhook}, nil
}

// Stop stops the webhook and then the control plane: in the other order, the API server would wait for the webhook's watches.
func (c *Cluster) Stop() error {
	return errors.Join(c.Webhook.Stop(), c.Plane.Stop())
}

// Main is the body of a main function. The first SIGINT or SIGTERM cancels the context. Main writes an error to standard error,
// after the name of the program, and exits with 1.
func Main(program string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the process at once. The control plane's watchdog still cleans up.
	context.AfterFunc(ctx, stop)
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		os.Exit(1)
	}
}

// MainWithCluster is Main for a program that uses a cluster of its own. It starts the cluster, calls use with the root of the
// repository, and stops the cluster. It writes progress to standard error.
func MainWithCluster(program string, use func(ctx context.Context, root string, cluster *Cluster) error) {
	Main(program, func(ctx context.Context) (err error) {
		root, err := controlplane.Root()
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: starting a real control plane, which takes about 10 seconds\n", program)
		cluster, err := StartCluster(ctx, controlplane.Options{Output: os.Stderr})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cluster.Stop()) }()
		return use(ctx, root, cluster)
	})
}
