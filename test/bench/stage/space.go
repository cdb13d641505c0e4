package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/bench/kyverno"
	"github.com/ownership-handoff/handoff/test/bench/peers"
)

// ErrNotAdmitted reports a write with other replicas than admission sets: the API server did not wait for the webhook.
var ErrNotAdmitted = errors.New("replicas that admission does not set")

// Conditions are match conditions.
type Conditions string

const (
	// Trivial is one condition, which only reads the name of the object.
	Trivial Conditions = "trivial"
	// Same are those of handoff's webhook configuration.
	Same Conditions = "same"
)

// Space is a namespace.
type Space struct {
	Name string
	// Title describes its admission.
	Title string
	// Peer is the webhook that reviews its writes (see package peers), Policy reports that a MutatingAdmissionPolicy mutates them,
	// Kyverno is the policy with which Kyverno mutates them. Without any of these, Handoff reports that handoff's webhook
	// configuration selects it.
	Peer    string
	Policy  bool
	Kyverno kyverno.Policy
	Handoff bool
	// Conditions are the match conditions of the peer's webhook configuration.
	Conditions Conditions
	// Mode is handoff's mode, "" without an annotation.
	Mode string
	// Unscaled reports that no autoscaler has scaled its Deployments, but a person.
	Unscaled bool
	// Want are the replicas that each write results in.
	Want int32

	peer *peers.Peer
	api  client.Client
	// more are further clients with a connection each (see Spread).
	more []client.Client
}

// connections is the number of connections of many writers. The API server limits the requests at a time on one.
const connections = 10

// Spread gives the writes several connections.
func (s *Space) Spread(stage *Stage) error {
	for range connections {
		config := rest.CopyConfig(stage.Config)
		config.Dial = (&net.Dialer{Timeout: time.Minute}).DialContext // clients with a dialer of their own share no connection
		api, err := NewClient(config)
		if err != nil {
			return err
		}
		s.more = append(s.more, api)
	}
	return nil
}

// client returns the client for a Deployment.
func (s *Space) client(deployment int) client.Client {
	if len(s.more) == 0 {
		return s.api
	}
	return s.more[deployment%len(s.more)]
}

// PID returns the process ID of the webhook that reviews the writes, 0 without one.
func (s *Space) PID(stage *Stage) int {
	switch {
	case s.peer != nil:
		return s.peer.PID
	case s.Kyverno != "":
		return stage.Kyverno.PID
	case s.Handoff:
		return stage.Handoff
	default:
		return 0
	}
}

// Write sets the replicas of a Deployment as kubectl apply does, in a dry run: each write finds the same object, and none waits
// for a disk. The error is ErrNotAdmitted if the result is not the expected one.
func (s *Space) Write(ctx context.Context, deployment int) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: deploymentName(deployment)}}
	patch := client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, manifestReplicas))
	if err := s.client(deployment).Patch(ctx, d, patch, client.DryRunAll, client.FieldOwner(applier)); err != nil {
		return fmt.Errorf("patching the Deployment: %w", err)
	}
	if got := *d.Spec.Replicas; got != s.Want {
		return fmt.Errorf("%w: got %d, want %d", ErrNotAdmitted, got, s.Want)
	}
	return nil
}

// Size returns the size of a stored Deployment as JSON.
func (s *Space) Size(ctx context.Context) (int, error) {
	d := &appsv1.Deployment{}
	if err := s.api.Get(ctx, client.ObjectKey{Namespace: s.Name, Name: deploymentName(0)}, d); err != nil {
		return 0, fmt.Errorf("reading a Deployment: %w", err)
	}
	return sizeOf(d)
}

// Reviews returns the number of reviews of the peer so far.
func (s *Space) Reviews(ctx context.Context) (int, error) {
	if s.peer == nil {
		return 0, nil
	}
	return s.peer.Count(ctx)
}

// called returns an error if the space has a peer that has not been called yet.
func (s *Space) called(ctx context.Context) error {
	count, err := s.Reviews(ctx)
	if err == nil && s.peer != nil && count == 0 {
		err = errors.New("the webhook is not called yet")
	}
	return err
}

// setUp creates the objects of a namespace and starts its webhook.
func (s *Stage) setUp(ctx context.Context, space *Space, deployments int) error {
	space.api = s.api
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space.Name, Annotations: mode(space)}}
	if !space.Handoff {
		namespace.Labels = map[string]string{"ownership-handoff.io/system": "true"} // excludes it from handoff's configuration
	}
	if err := s.api.Create(ctx, namespace); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	for i := range deployments {
		if err := space.create(ctx, i); err != nil {
			return err
		}
	}
	switch {
	case space.Peer != "":
		return s.startPeer(ctx, space)
	case space.Policy:
		return s.createPolicy(ctx, space)
	default:
		return nil
	}
}

func (s *Stage) startPeer(ctx context.Context, space *Space) (err error) {
	space.peer, err = peers.Start(ctx, s.Plane, space.Peer)
	return err
}

// CreateReviewed creates the namespace of a recorded review, opted in, with the reviewed Deployment and its
// autoscaler.
func (s *Stage) CreateReviewed(ctx context.Context, namespace string) error {
	space := &Space{Name: namespace, Mode: string(ownership.ModeEnforce)}
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Annotations: mode(space)}}
	if err := s.api.Create(ctx, o); err != nil {
		return fmt.Errorf("creating the namespace of a recorded review: %w", err)
	}
	if err := Apply(ctx, s.api, namespace, "web"); err != nil {
		return err
	}
	return Autoscale(ctx, s.api, namespace, "web")
}
