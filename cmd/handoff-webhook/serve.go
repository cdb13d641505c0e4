package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/ownership-handoff/handoff/internal/mounted"
	"github.com/ownership-handoff/handoff/internal/scale"
	"github.com/ownership-handoff/handoff/webhook"
	"github.com/ownership-handoff/handoff/webhook/certs"
	"github.com/ownership-handoff/handoff/webhook/cluster"
	"github.com/ownership-handoff/handoff/webhook/serving"
)

// serve creates the parts and runs them until the context is done and the last request is answered.
func serve(ctx context.Context, o options, log logr.Logger) error {
	configuration, err := newConfiguration(o.config, log.WithName("configuration"))
	if err != nil {
		return err
	}
	restConfig, err := clusterConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	mgr, err := newManager(restConfig)
	if err != nil {
		return err
	}
	recorder := webhook.LimitEvents(mgr.GetEventRecorder("handoff-webhook"), log.WithName("events"))
	state, parts, err := newState(ctx, mgr, configuration, recorder, o.labelNamespaces, log)
	if err != nil {
		return err
	}
	guard, err := cluster.NewGuard(mgr.GetConfig(), mgr.GetHTTPClient(), log.WithName("guard"))
	if err != nil {
		return err
	}
	handler := &webhook.Handler{
		Cluster: state, Settings: func() webhook.Settings { return configuration.current().settings },
		Metrics: webhook.NewMetrics(metrics.Registry), Log: log.WithName("webhook"),
		Events: recorder, GuardMissing: guard.Missing,
	}
	o.serving.MaxBody, o.serving.Log, o.serving.Registerer = webhook.MaxBody, log.WithName("serving"), metrics.Registry
	server := serving.New(o.serving, handler)
	checks := append(server.Checks(), serving.Check{Name: "caches", Ready: state.Check}, configuration.check())
	if o.selfSigned {
		o.certs.Dir, o.certs.FieldManager, o.certs.Log = o.serving.CertDir, cluster.FieldManager, log.WithName("self-signed")
		keeper, err := certs.New(restConfig, o.certs)
		if err != nil {
			return err
		}
		checks = append(checks, serving.Check{Name: "self-signed", Ready: keeper.Ready, Warning: keeper.Warning})
		parts = append(parts, keeper.Run)
	}
	health := serving.NewHealth(log.WithName("health"), checks...)
	metrics.Registry.MustRegister(health.Metrics()...)
	numbers := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8})
	reload := func(ctx context.Context) error {
		mounted.Follow(ctx, configuration.file.Reload)
		return nil
	}
	return run(ctx, server.Run, append(parts, mgr.Start, guard.Run, serving.Plain(o.health, health, log), serving.Plain(o.metrics, numbers, log), reload))
}

// detectDeadConnections makes client-go ping an idle connection to the API server after 5 seconds, with a timeout of 5 seconds;
// by default it takes 45 seconds to close a dead one. All requests share one connection, so all of them wait until then.
// client-go can only be configured through these environment variables.
func detectDeadConnections() error {
	for _, name := range []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP2_PING_TIMEOUT_SECONDS"} {
		if err := os.Setenv(name, cmp.Or(os.Getenv(name), "5")); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}

func clusterConfig(kubeconfig string) (*rest.Config, error) {
	if err := detectDeadConnections(); err != nil {
		return nil, err
	}
	if kubeconfig != "" {
		c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
		return c, nil
	}
	c, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("no in-cluster configuration; set --kubeconfig: %w", err)
	}
	return c, nil
}

// newManager returns the manager, which runs the informers.
func newManager(c *rest.Config) (manager.Manager, error) {
	scheme, err := cluster.Scheme()
	if err != nil {
		return nil, err
	}
	c = rest.CopyConfig(c)
	c.QPS = -1 // the API server limits requests itself; the default of five per second would delay the pages of large lists
	mgr, err := ctrl.NewManager(c, ctrl.Options{
		Scheme:                 scheme,
		Cache:                  cluster.CacheOptions(),
		Metrics:                metricsserver.Options{BindAddress: "0"}, // package serving limits connections and headers
		HealthProbeBindAddress: "0",                                     // and its probes report the reason
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return mgr, nil
}

// newState returns the state of the cluster, a part that watches scalers for it, and one that repairs the labels of namespaces if
// that is wanted.
func newState(
	ctx context.Context, mgr manager.Manager, configuration *configuration, recorder events.EventRecorder, labelNamespaces bool,
	log logr.Logger,
) (state *cluster.State, parts []part, err error) {
	if state, err = cluster.New(ctx, mgr.GetCache()); err != nil {
		return nil, nil, err
	}
	metrics.Registry.MustRegister(state.Ages())
	client, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, nil, fmt.Errorf("creating the client for scalers: %w", err)
	}
	watches := state.FollowScalers(cluster.ScalerOptions{
		Kinds:  func() []scale.Kind { return configuration.current().scalers },
		Client: client, Events: recorder, Log: log.WithName("scalers"),
	})
	if !labelNamespaces {
		return state, []part{watches}, nil
	}
	labels, err := state.RepairLabels(mgr.GetConfig(), mgr.GetHTTPClient(), log.WithName("namespaces"))
	if err != nil {
		return nil, nil, err
	}
	metrics.Registry.MustRegister(labels.Metrics()...)
	return state, []part{watches, labels.Run}, nil
}
