package cluster_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// suite is shared by all tests of the package: a control plane without a controller manager, and state about it.
var suite struct {
	plane  *controlplane.ControlPlane
	client client.Client
	cache  cache.Cache
	state  *cluster.State
}

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m.Run, os.Stderr, controlplane.Options{WithoutControllerManager: true}, prepare))
}

func prepare(ctx context.Context, plane *controlplane.ControlPlane) error {
	suite.plane = plane
	scheme, err := cluster.Scheme()
	if err != nil {
		return err
	}
	if err := errors.Join(rbacv1.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme)); err != nil {
		return err
	}
	if suite.client, err = client.New(suite.plane.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	c, state, err := stateOf(ctx, suite.plane.Config)
	if err != nil {
		return err
	}
	if state.Ready() || state.Check() == nil {
		return errors.New("state are ready before the cache is started")
	}
	go func() { _ = c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		return errors.New("the informers have not synced")
	}
	suite.cache, suite.state = c, state
	return nil
}

// stateOf returns state that are read with a user's permissions, and their cache, which is not started.
func stateOf(ctx context.Context, config *rest.Config) (cache.Cache, *cluster.State, error) {
	scheme, err := cluster.Scheme()
	if err != nil {
		return nil, nil, err
	}
	options := cluster.CacheOptions()
	options.Scheme = scheme
	c, err := cache.New(config, options)
	if err != nil {
		return nil, nil, err
	}
	state, err := cluster.New(ctx, c)
	return c, state, err
}

// namespace creates a namespace for the test.
func namespace(t *testing.T, annotations map[string]string) *corev1.Namespace {
	t.Helper()
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Annotations: annotations}}
	create(t, o)
	return o
}

func create(t *testing.T, o client.Object) {
	t.Helper()
	expect.NoError(t, suite.client.Create(t.Context(), o))
	if o.GetNamespace() != "" {
		return
	}
	t.Cleanup(func() { // not with t.Context, which is canceled by then
		err := suite.client.Delete(context.Background(), o)
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// eventually waits until known returns the wanted value: state are updated asynchronously.
func eventually[T comparable](t *testing.T, what string, want T, known func() T) {
	t.Helper()
	var got T
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got = known(); got == want {
			return
		}
	}
	t.Fatalf("%s: want %v, got %v", what, want, got)
}
