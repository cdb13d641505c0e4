package cluster

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// guardInterval is the pause between two checks. For both times together, the webhook can miss that the guard was installed. The API
	// server itself needs a few seconds to compile the policies.
	guardInterval = 4 * time.Second
	guardTimeout  = 5 * time.Second
)

// Guard reports whether the guard is installed: the MutatingAdmissionPolicies in manifests/guard. They, and not their bindings,
// because users can bind them by other names.
type Guard struct {
	policies metadata.Interface
	log      logr.Logger
	missing  atomic.Bool
}

// NewGuard returns a Guard that reads from an API server. Run checks it.
func NewGuard(c *rest.Config, h *http.Client, log logr.Logger) (*Guard, error) {
	policies, err := metadata.NewForConfigAndClient(c, h)
	if err != nil {
		return nil, fmt.Errorf("creating the client for the guard: %w", err)
	}
	return &Guard{policies: policies, log: log}, nil
}

// Missing reports whether the API server has answered that there is no part of the guard. While that is unknown, for example
// because a permission is missing, the guard may be installed. Missing does not block.
func (g *Guard) Missing() bool { return g.missing.Load() }

// Run checks whether the guard is installed until the context is done.
func (g *Guard) Run(ctx context.Context) error {
	var logged string
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		missing, err := g.check(ctx)
		g.missing.Store(missing)
		state := fmt.Sprint(missing, err)
		switch {
		case state == logged || ctx.Err() != nil:
			return
		case err != nil:
			g.log.Info("cannot tell whether the guard is installed; assuming that it is", "reason", err.Error())
		default:
			g.log.Info("checked for the guard", "installed", !missing)
		}
		logged = state
	}, guardInterval)
	return nil
}

// check returns true if none of the policies exists in any version, or the API server has no such policies.
func (g *Guard) check(ctx context.Context) (missing bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, guardTimeout)
	defer cancel()
	for _, version := range []string{"v1", "v1beta1"} {
		policies := g.policies.Resource(schema.GroupVersionResource{
			Group: admissionregistrationv1.GroupName, Version: version, Resource: "mutatingadmissionpolicies",
		})
		for _, name := range []string{"handoff-guard-autoscaled", "handoff-guard-dropped-fields"} {
			if _, err := policies.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return false, err
			}
		}
	}
	return true, nil
}
