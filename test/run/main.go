// Command run starts a real control plane with the webhook, to try it out until Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the process at once. The control plane's watchdog still cleans up.
	context.AfterFunc(ctx, stop)
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "run: starting a real control plane, which takes about 10 seconds")
	cluster, err := handofftest.StartCluster(ctx, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	if err := cluster.Webhook.Register(ctx); err != nil {
		return err
	}
	if err := optIn(ctx, cluster.Plane); err != nil {
		return err
	}
	invite(cluster.Plane, filepath.Join(root, "test", "demo", "web.yaml"))
	follow(ctx, cluster.Webhook, os.Stderr)
	fmt.Fprintln(os.Stderr, "run: shutting down")
	return nil
}

// optIn creates the namespace demo with handoff enabled.
func optIn(ctx context.Context, controlPlane *controlplane.ControlPlane) error {
	api, err := client.New(controlPlane.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("client for the control plane: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "demo", Annotations: map[string]string{ownership.ModeAnnotation: "enforce"},
	}}
	if err := api.Create(ctx, namespace); err != nil {
		return fmt.Errorf("create namespace demo: %w", err)
	}
	return nil
}
