// Command run starts a real control plane with the webhook, to try it out until Ctrl-C.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func main() { handofftest.Main("run", run) }

func run(ctx context.Context, root string, cluster *handofftest.Cluster) error {
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
