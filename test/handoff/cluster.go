package handofftest

import (
	"context"
	"errors"

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
