package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/controlplane"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// stage is a control plane with namespaces that differ only in the admission of their writes: none, a webhook with a constant patch,
// handoff, and handoff with its guard.
type stage struct {
	hook *handofftest.Webhook
	// apiServer, handoff and constant are process IDs.
	apiServer, handoff, constant int

	plane *controlplane.ControlPlane
	peer  *peer
	api   client.Client
}

// collector are the settings of the garbage collector in manifests/base/deployment.yaml.
var collector = []string{"GOMEMLIMIT=256MiB", "GOGC=300"}

// startStage starts a control plane with handoff, and sets up the namespaces. The caller must stop the stage, even after an error.
func startStage(ctx context.Context, progress io.Writer, spaces []*space) (s *stage, err error) {
	s = &stage{}
	s.plane, err = controlplane.Start(ctx, controlplane.Options{Output: progress, WithoutControllerManager: true})
	if err != nil {
		return s, err
	}
	servers, err := procs.All("kube-apiserver", s.plane.Dir)
	if err != nil {
		return s, err
	}
	s.apiServer = servers[0].PID
	if s.hook, err = handofftest.Start(ctx, s.plane, handofftest.Options{Environment: collector}); err != nil {
		return s, err
	}
	s.handoff = s.hook.PID()
	if s.peer, err = startPeer(ctx, s.plane); err != nil {
		return s, err
	}
	s.constant = s.peer.process.PID()
	config := rest.CopyConfig(s.plane.Config)
	config.QPS = -1
	if s.api, err = client.New(config, client.Options{}); err != nil {
		return s, fmt.Errorf("creating a client: %w", err)
	}
	for _, space := range spaces {
		if err := space.setUp(ctx, s.api); err != nil {
			return s, fmt.Errorf("setting up namespace %s: %w", space.name, err)
		}
	}
	err = s.admit(ctx, spaces)
	return s, err
}

// admit installs everything that admits writes, the guard first: it is in force once it alone keeps replicas.
func (s *stage) admit(ctx context.Context, spaces []*space) error {
	var guarded []*space
	for _, space := range spaces {
		if space.guarded && space.want == scaled {
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
	if err := s.hook.Register(ctx); err != nil {
		return err
	}
	if err := s.registerPeer(ctx); err != nil {
		return err
	}
	return settle(ctx, spaces)
}

// stop stops everything, the clients of the API server first.
func (s *stage) stop() error {
	var failures []error
	if s.peer != nil {
		failures = append(failures, s.peer.stop())
	}
	if s.hook != nil {
		failures = append(failures, s.hook.Stop())
	}
	if s.plane != nil {
		failures = append(failures, s.plane.Stop())
	}
	return errors.Join(failures...)
}

// settle waits until a write in each namespace has the expected result.
func settle(ctx context.Context, spaces []*space) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, space := range spaces {
		for err := space.write(ctx); err != nil; err = space.write(ctx) {
			if ctx.Err() != nil {
				return fmt.Errorf("waiting for admission in namespace %s: %w", space.name, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

// The labels that select the namespaces of the constant patch and of the guard, and the one that excludes all others from
// handoff.
const (
	constantLabel = "bench/constant-patch"
	guardLabel    = "bench/guard"
	systemLabel   = "ownership-handoff.io/system"
)

// registerPeer registers the constant patch, with the timeout and the failure policy of handoff's configuration. If it fails, a
// write has another result than expected.
func (s *stage) registerPeer(ctx context.Context) error {
	err := s.api.Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "constant-patch"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:         "constant-patch.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &s.peer.url, CABundle: s.peer.ca},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
				},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{constantLabel: "yes"}},
			FailurePolicy:           new(admissionregistrationv1.Ignore),
			TimeoutSeconds:          new(int32(2)),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	})
	if err != nil {
		return fmt.Errorf("registering the constant patch: %w", err)
	}
	return nil
}

// installGuard installs the guard for the namespaces that are to have it. Installed as it is, it guards all.
func (s *stage) installGuard(ctx context.Context) error {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	const only = `{"spec":{"matchResources":{"namespaceSelector":{"matchLabels":{"` + guardLabel + `":"yes"}}}}}`
	for _, args := range [][]string{
		{"apply", "-k", filepath.Join(root, "manifests", "guard")},
		{"patch", "mutatingadmissionpolicybinding", "handoff-guard-autoscaled", "handoff-guard-dropped-fields", "-p", only},
	} {
		if out, err := exec.CommandContext(ctx, s.plane.Kubectl, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("installing the guard: kubectl %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}
