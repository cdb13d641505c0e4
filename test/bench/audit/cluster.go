package audit

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/bench/seed"
	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

const (
	namespaces = 200
	// autoscaledShare is the share of autoscaled workloads: one in so many.
	autoscaledShare = 5
)

// cluster is a control plane with a number of workloads.
type cluster struct {
	controlPlane      *controlplane.ControlPlane
	api               client.Client
	autoscaled, plain int
}

func namespaceName(i int) string  { return seed.Name("team", i%namespaces, 3) }
func autoscaledName(i int) string { return seed.Name("web", i, 6) }
func plainName(i int) string      { return seed.Name("app", i, 6) }

// createOriginals creates the namespaces, and the first workload of both sorts.
func (c *cluster) createOriginals(ctx context.Context) error {
	for i := range namespaces {
		if err := c.api.Create(ctx, namespaceObject(namespaceName(i))); err != nil {
			return err
		}
	}
	c.autoscaled, c.plain = 1, 1
	if err := stage.Apply(ctx, c.api, namespaceName(0), plainName(0)); err != nil {
		return err
	}
	if err := stage.Apply(ctx, c.api, namespaceName(0), autoscaledName(0)); err != nil {
		return err
	}
	return stage.Autoscale(ctx, c.api, namespaceName(0), autoscaledName(0))
}

// grow copies workloads until there are as many as given.
func (c *cluster) grow(ctx context.Context, workloads int) error {
	autoscaled := workloads / autoscaledShare
	if err := c.copy(ctx, "deployments", plainName, c.plain, workloads-autoscaled); err != nil {
		return err
	}
	if err := c.copy(ctx, "horizontalpodautoscalers", autoscaledName, c.autoscaled, autoscaled); err != nil {
		return err
	}
	if err := c.copy(ctx, "deployments", autoscaledName, c.autoscaled, autoscaled); err != nil {
		return err
	}
	c.plain, c.autoscaled = workloads-autoscaled, autoscaled
	last := &appsv1.Deployment{}
	last.Namespace, last.Name = namespaceName(autoscaled-1), autoscaledName(autoscaled-1)
	return seed.Await(ctx, c.api, last)
}

func (c *cluster) copy(ctx context.Context, resource string, name func(int) string, from, to int) error {
	of := seed.Copies{
		Etcd: c.controlPlane.EtcdURL(), Key: "/registry/" + resource + "/" + namespaceName(0) + "/" + name(0), From: from, To: to,
		Replace: func(i int) [][2]string {
			return [][2]string{{namespaceName(0), namespaceName(i)}, {name(0), name(i)}}
		},
	}
	return of.Write(ctx)
}
