// Package stage sets up namespaces that differ only in the admission of their writes: none, other webhooks, policies, handoff.
// All are in one control plane, with the same Deployments.
package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/bench/kyverno"
	"github.com/ownership-handoff/handoff/test/bench/peers"
	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// Replicas of a Deployment: those of its manifest, and those that it was scaled to.
const (
	manifestReplicas = 3
	scaledReplicas   = peers.Replicas
)

// Stage is a control plane with namespaces.
type Stage struct {
	Plane   *controlplane.ControlPlane
	Webhook *handofftest.Webhook
	// Kyverno is nil unless a namespace has a policy for it.
	Kyverno *kyverno.Controller
	// APIServer and Handoff are process IDs.
	APIServer, Handoff int
	// Config is the configuration of clients, without a client-side rate limit.
	Config *rest.Config

	spaces []*Space
	api    client.Client
}

// memoryLimit is the limit of manifests/base/deployment.yaml.
const memoryLimit = "GOMEMLIMIT=256MiB"

// Start starts a control plane with handoff, and sets up the namespaces, each with a number of Deployments. The caller must stop
// the stage, even after an error.
func Start(ctx context.Context, progress io.Writer, spaces []*Space, deployments int) (*Stage, error) {
	s := &Stage{spaces: spaces}
	var err error
	s.Plane, err = controlplane.Start(ctx, controlplane.Options{Output: progress, WithoutControllerManager: true})
	if err != nil {
		return s, err
	}
	s.Config = rest.CopyConfig(s.Plane.Config)
	s.Config.QPS = -1
	if s.APIServer, err = procs.Find("kube-apiserver", s.Plane.Dir); err != nil {
		return s, err
	}
	if s.Webhook, err = handofftest.Start(ctx, s.Plane, handofftest.Options{Environment: []string{memoryLimit}}); err != nil {
		return s, err
	}
	if s.Handoff, err = procs.Find("handoff-webhook", s.Plane.Dir); err != nil {
		return s, err
	}
	if s.api, err = NewClient(s.Config); err != nil {
		return s, err
	}
	for _, space := range spaces {
		if err := s.setUp(ctx, space, deployments); err != nil {
			return s, fmt.Errorf("setting up namespace %s: %w", space.Name, err)
		}
	}
	if err := s.startKyverno(ctx, progress); err != nil {
		return s, err
	}
	if err := s.Webhook.Register(ctx); err != nil {
		return s, err
	}
	if err := s.register(ctx); err != nil {
		return s, err
	}
	err = s.settle(ctx)
	return s, err
}

// Stop stops everything, the clients of the API server first.
func (s *Stage) Stop() error {
	var failures []error
	if s.Kyverno != nil {
		failures = append(failures, s.Kyverno.Stop())
	}
	for _, space := range s.spaces {
		if space.peer != nil {
			failures = append(failures, space.peer.Stop())
		}
	}
	if s.Webhook != nil {
		failures = append(failures, s.Webhook.Stop())
	}
	if s.Plane != nil {
		failures = append(failures, s.Plane.Stop())
	}
	return errors.Join(failures...)
}

// settle waits until a write in each namespace has the expected result, and its webhook is called.
func (s *Stage) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, space := range s.spaces {
		for {
			err := space.Write(ctx, 0)
			if err == nil {
				err = space.called(ctx)
			}
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("waiting for admission in namespace %s: %w", space.Name, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

// NewClient returns a client for the built-in types.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering types: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return api, nil
}

// mode returns the annotations of a namespace.
func mode(s *Space) map[string]string {
	if s.Mode == "" {
		return nil
	}
	return map[string]string{ownership.ModeAnnotation: s.Mode}
}
