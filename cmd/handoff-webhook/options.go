package main

import (
	goflag "flag"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// options are the flags.
type options struct {
	kubeconfig  string
	config      string
	webhookPort int
	certDir     string
	metrics     string
	health      string
	version     bool
	zap         zap.Options
}

const usage = `handoff-webhook keeps what autoscalers, controllers and people own when a manifest is applied.

It serves POST /mutate for a MutatingWebhookConfiguration (see manifests/base), for namespaces and objects annotated
ownership-handoff.io/mode: enforce or warn. Whatever goes wrong inside, it lets the write through.

Usage:
  handoff-webhook [flags]

Examples:
  # In a cluster: everything from the service account, the certificate from a mounted Secret.
  handoff-webhook --webhook-cert-dir=/etc/handoff/tls

  # Against another cluster, from a shell.
  handoff-webhook --kubeconfig=$HOME/.kube/config --webhook-port=9443 --webhook-cert-dir=./certs \
    --metrics-bind-address=127.0.0.1:8080 --health-probe-bind-address=127.0.0.1:8081

Flags:
`

func parse(args []string) (options, error) {
	var o options
	flags := pflag.NewFlagSet("handoff-webhook", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the cluster; empty: the cluster that this runs in")
	flags.StringVar(&o.config, "config", "",
		"`file` with a HandoffConfiguration (config.ownership-handoff.io/v1alpha1): the lists of appliers, imperative managers "+
			"and autoscalers, and the controller rules; empty: the defaults, see docs/configuration.md")
	flags.IntVar(&o.webhookPort, "webhook-port", 9443, "`port` that POST /mutate is served on, over TLS")
	flags.StringVar(&o.certDir, "webhook-cert-dir", "/etc/handoff/tls",
		"`folder` with the serving certificate, tls.crt and tls.key in PEM; read again whenever they change")
	flags.StringVar(&o.metrics, "metrics-bind-address", ":8080",
		"`address` that Prometheus metrics are served on, under /metrics; 0: not at all")
	flags.StringVar(&o.health, "health-probe-bind-address", ":8081",
		"`address` that /healthz and /readyz are served on; ready means that the caches are synced and the certificate is loaded")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")

	zapFlags := goflag.NewFlagSet("zap", goflag.ContinueOnError)
	o.zap.BindFlags(zapFlags)
	flags.AddGoFlagSet(zapFlags)

	flags.Usage = func() { fmt.Fprint(os.Stderr, usage, flags.FlagUsagesWrapped(110)) }
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: handoff-webhook takes flags only, see --help", flags.Arg(0))
	}
	return o, nil
}
