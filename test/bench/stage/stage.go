// Package stage sets up namespaces that differ only in the admission of their writes: none, a webhook with a constant patch,
// handoff, and handoff with its guard. All are in one control plane.
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

	"github.com/ownership-handoff/handoff/test/bench/peer"
	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// Stage is a control plane with namespaces.
type Stage struct {
	Webhook *handofftest.Webhook
	// APIServer, Handoff and Constant are process IDs.
	APIServer, Handoff, Constant int

	plane *controlplane.ControlPlane
	peer  *peer.Peer
	api   client.Client
}

// collector are the settings of the garbage collector in manifests/base/deployment.yaml.
var collector = []string{"GOMEMLIMIT=256MiB", "GOGC=300"}

// Start starts a control plane with handoff, and sets up the namespaces. The caller must stop the stage, even after an error.
func Start(ctx context.Context, progress io.Writer, spaces []*Space) (s *Stage, err error) {
	s = &Stage{}
	s.plane, err = controlplane.Start(ctx, controlplane.Options{Output: progress, WithoutControllerManager: true})
	if err != nil {
		return s, err
	}
	if s.APIServer, err = procs.Find("kube-apiserver", s.plane.Dir); err != nil {
		return s, err
	}
	if s.Webhook, err = handofftest.Start(ctx, s.plane, handofftest.Options{Environment: collector}); err != nil {
		return s, err
	}
	if s.Handoff, err = procs.Find("handoff-webhook", s.plane.Dir); err != nil {
		return s, err
	}
	if s.peer, err = peer.Start(ctx, s.plane); err != nil {
		return s, err
	}
	s.Constant = s.peer.PID
	if s.api, err = newClient(s.plane.Config); err != nil {
		return s, err
	}
	for _, space := range spaces {
		if err := s.setUp(ctx, space); err != nil {
			return s, fmt.Errorf("setting up namespace %s: %w", space.Name, err)
		}
	}
	err = s.admit(ctx, spaces)
	return s, err
}

// admit installs everything that admits writes, the guard first: it is in force once it alone keeps replicas.
func (s *Stage) admit(ctx context.Context, spaces []*Space) error {
	var guarded []*Space
	for _, space := range spaces {
		if space.Guarded && space.Want == peer.Replicas {
			guarded = append(guarded, space)
		}
	}
	if len(guarded) > 0 {
		if err := s.installGuard(ctx); err != nil {
			return err
		}
		if err := settle(ctx, guarded); err != nil {
			return err
		}
	}
	if err := s.Webhook.Register(ctx); err != nil {
		return err
	}
	if err := s.registerPeer(ctx); err != nil {
		return err
	}
	return settle(ctx, spaces)
}

// Stop stops everything, the clients of the API server first.
func (s *Stage) Stop() error {
	var failures []error
	if s.peer != nil {
		failures = append(failures, s.peer.Stop())
	}
	if s.Webhook != nil {
		failures = append(failures, s.Webhook.Stop())
	}
	if s.plane != nil {
		failures = append(failures, s.plane.Stop())
	}
	return errors.Join(failures...)
}

// settle waits until a write in each namespace has the expected result.
func settle(ctx context.Context, spaces []*Space) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, space := range spaces {
		for err := space.Write(ctx); err != nil; err = space.Write(ctx) {
			if ctx.Err() != nil {
				return fmt.Errorf("waiting for admission in namespace %s: %w", space.Name, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

// newClient returns a client for the built-in types, without a client-side rate limit.
func newClient(config *rest.Config) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
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
