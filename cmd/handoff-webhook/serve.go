package main

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/ownership-handoff/handoff/cluster"
	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/webhook"
)

// serve wires the parts and runs them until the context ends.
func serve(ctx context.Context, o options, log logr.Logger) error {
	configuration := config.Default()
	if o.config != "" {
		var err error
		if configuration, err = config.Read(o.config); err != nil {
			return err
		}
	}
	restConfig, err := clusterConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	certificate := webhook.NewCertificate(o.certDir, log.WithName("certificate"))
	mgr, err := newManager(restConfig, o, certificate)
	if err != nil {
		return err
	}
	facts, err := cluster.New(ctx, mgr.GetCache())
	if err != nil {
		return err
	}
	handler, err := newHandler(mgr, facts, configuration, log.WithName("webhook"))
	if err != nil {
		return err
	}
	mgr.GetWebhookServer().Register("/mutate", handler)
	if err := addChecks(mgr, facts, certificate); err != nil {
		return err
	}
	// Not one of the manager's own: those start after the caches have synced, and reviews are answered before that.
	go func() {
		if err := certificate.Start(ctx); err != nil {
			log.Error(err, "the certificate is no longer followed")
		}
	}()
	return mgr.Start(ctx)
}

func clusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
		return c, nil
	}
	c, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("not in a cluster, so give --kubeconfig: %w", err)
	}
	return c, nil
}

func newManager(c *rest.Config, o options, certificate *webhook.Certificate) (manager.Manager, error) {
	scheme, err := cluster.Scheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(c, ctrl.Options{
		Scheme:                 scheme,
		Cache:                  cluster.CacheOptions(),
		Metrics:                metricsserver.Options{BindAddress: o.metrics},
		HealthProbeBindAddress: o.health,
		WebhookServer: ctrlwebhook.NewServer(ctrlwebhook.Options{
			Port: o.webhookPort,
			TLSOpts: []func(*tls.Config){func(t *tls.Config) {
				t.MinVersion = tls.VersionTLS13
				t.GetCertificate = certificate.Get
			}},
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up: %w", err)
	}
	return mgr, nil
}

func newHandler(
	mgr manager.Manager, facts *cluster.Facts, c config.HandoffConfiguration, log logr.Logger,
) (*webhook.Handler, error) {
	rules, err := c.Rules()
	if err != nil {
		return nil, err
	}
	counted, err := webhook.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, err
	}
	return &webhook.Handler{
		Cluster: facts, Managers: c.Managers(), Rules: rules, Metrics: counted, Log: log,
		Events: mgr.GetEventRecorder("handoff-webhook"),
	}, nil
}

func addChecks(mgr manager.Manager, facts *cluster.Facts, certificate *webhook.Certificate) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	for name, check := range map[string]healthz.Checker{
		"caches":      facts.Check,
		"certificate": certificate.Check,
		"serving":     mgr.GetWebhookServer().StartedChecker(),
	} {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return err
		}
	}
	return nil
}
