package cluster_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/webhook/cluster"
)

// suite is what all tests of the package share: a control plane that leaves objects alone, and what is known of it.
var suite struct {
	plane  *controlplane.Plane
	client client.Client
	cache  cache.Cache
	facts  *cluster.Facts
}

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m.Run, os.Stderr, controlplane.Options{WithoutControllerManager: true}, prepare))
}

func prepare(ctx context.Context, plane *controlplane.Plane) error {
	suite.plane = plane
	scheme, err := cluster.Scheme()
	if err != nil {
		return err
	}
	if err := rbacv1.AddToScheme(scheme); err != nil {
		return err
	}
	if suite.client, err = client.New(suite.plane.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	c, facts, err := factsOf(ctx, suite.plane.Config)
	if err != nil {
		return err
	}
	if facts.Ready() || facts.Check() == nil {
		return errors.New("facts are ready before anything is watched")
	}
	go func() { _ = c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		return errors.New("the informers have not synced")
	}
	suite.cache, suite.facts = c, facts
	return nil
}

// factsOf returns facts about a cluster as a user sees it, and the cache that they come from, which is not started.
func factsOf(ctx context.Context, config *rest.Config) (cache.Cache, *cluster.Facts, error) {
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
	facts, err := cluster.New(ctx, c)
	return c, facts, err
}

// namespace makes a namespace of the test's own.
func namespace(t *testing.T, annotations map[string]string) *corev1.Namespace {
	t.Helper()
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Annotations: annotations}}
	create(t, o)
	return o
}

func create(t *testing.T, o client.Object) {
	t.Helper()
	if err := suite.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if o.GetNamespace() != "" {
		return
	}
	t.Cleanup(func() { // t.Context is done by then
		err := suite.client.Delete(context.Background(), o)
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// eventually waits until what is known is what is wanted: facts follow the cluster, they do not ask it.
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
