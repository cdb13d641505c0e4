package handofftest

import (
	"context"
	"errors"
	"io"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// Cluster is a control plane with this repository's webhook beside it.
type Cluster struct {
	Plane   *controlplane.Plane
	Webhook *Webhook
}

// StartCluster starts a control plane and a webhook for it, which the API server does not know before Webhook.Register.
// Progress receives a line for each part that is ready. The caller must stop it.
func StartCluster(ctx context.Context, progress io.Writer) (*Cluster, error) {
	plane, err := controlplane.Start(ctx, controlplane.Options{Output: progress})
	if err != nil {
		return nil, err
	}
	webhook, err := Start(ctx, plane, Options{})
	if err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	return &Cluster{Plane: plane, Webhook: webhook}, nil
}

// Stop ends the webhook, then the plane: the other way round, the API server would wait for the webhook's watches to end.
func (c *Cluster) Stop() error {
	return errors.Join(c.Webhook.Stop(), c.Plane.Stop())
}
