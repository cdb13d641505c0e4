package main

import (
	goflag "flag"
	"os"
	"time"

	"github.com/spf13/pflag"
)

// namespaceVariable is set by the downward API.
const namespaceVariable = "POD_NAMESPACE"

// group is some of the flags under a title of --help.
type group struct {
	title string
	flags *pflag.FlagSet
}

func (o *options) groups() []group {
	return []group{
		groupOf("What it decides by", o.addGeneral),
		groupOf("Serving reviews", o.addServing),
		groupOf("Ending without a lost request", o.addEnding),
		groupOf("Certificates of its own", o.addSelfSigned),
		groupOf("Being observed", o.addObserved),
	}
}

func groupOf(title string, add func(*pflag.FlagSet)) group {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	add(flags)
	return group{title, flags}
}

func (o *options) addGeneral(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file` of the cluster; empty: the cluster that this runs in")
	flags.StringVar(&o.config, "config", "",
		"`file` with a HandoffConfiguration (config.ownership-handoff.io/v1alpha1): the lists of appliers, imperative managers "+
			"and autoscalers, and the controller rules; empty: the defaults, see docs/configuration.md")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
}

func (o *options) addServing(flags *pflag.FlagSet) {
	flags.IntVar(&o.webhookPort, "webhook-port", 9443, "`port` that POST /mutate is served on, over TLS 1.3 and HTTP/1.1")
	flags.StringVar(&o.certDir, "webhook-cert-dir", "/etc/handoff/tls",
		"`folder` with the serving certificate, tls.crt and tls.key in PEM; read again when they change. While they are missing, "+
			"broken or expired, the last good certificate goes on being served, and /readyz says what is wrong")
	flags.StringVar(&o.clientCA, "client-ca", "",
		"`file` with authorities in PEM; read again when it changes. When set, a client without a certificate that one of them "+
			"has signed does not get past the TLS handshake on --webhook-port. The API server presents one where the kubeconfig "+
			"of its --admission-control-config-file says so. Empty: any client is served")
	flags.StringArrayVar(&o.clientNames, "client-name", nil,
		"common `name` that the client's certificate may have; can be repeated. None: any, as long as --client-ca has signed it")
	flags.IntVar(&o.maxInFlight, "max-in-flight", 400,
		"reviews that are worked on at a time; one that arrives beyond that is answered at once: allowed, unchanged, with a "+
			"warning; 0: no limit")
}

func (o *options) addEnding(flags *pflag.FlagSet) {
	flags.DurationVar(&o.shutdownDelay, "shutdown-delay", 10*time.Second,
		"how long requests, on new connections too, go on being served after SIGTERM. /readyz fails at once, so that this is "+
			"the time for everybody to learn of it")
	flags.DurationVar(&o.drainTimeout, "drain-timeout", 15*time.Second,
		"how long requests in flight may take after that. terminationGracePeriodSeconds of the pod has to be longer than both")
}

func (o *options) addSelfSigned(flags *pflag.FlagSet) {
	flags.BoolVar(&o.selfSigned, "self-signed", false,
		"make an authority and a serving certificate, renew them in time, write them to --webhook-cert-dir, and keep the "+
			"caBundle of --webhook-configuration current. Any number of replicas share one Secret")
	flags.StringVar(&o.selfSignedSecret, "self-signed-secret", "handoff-webhook-tls",
		"`name` of that Secret, in --namespace; made when it is missing. Without its ca.crt a new authority is made, "+
			"without its tls.crt a new certificate")
	flags.StringVar(&o.service, "service", "handoff-webhook", "`name` of the Service, for the names in the certificate")
	flags.StringVar(&o.webhookConfiguration, "webhook-configuration", "handoff",
		"`name` of the MutatingWebhookConfiguration whose webhooks get the caBundle")
	flags.StringVar(&o.namespace, "namespace", os.Getenv(namespaceVariable),
		"`namespace` that this runs in; by default the one that $"+namespaceVariable+" names")
}

func (o *options) addObserved(flags *pflag.FlagSet) {
	flags.StringVar(&o.metrics, "metrics-bind-address", ":8080",
		"`address` that Prometheus metrics are served on, under /metrics; 0: not at all")
	flags.StringVar(&o.health, "health-probe-bind-address", ":8081",
		"`address` that /healthz and /readyz are served on; 0: not at all. Ready means that the caches are synced and "+
			"their watches can be renewed, the certificate is good and requests are served; /readyz says what is not, and why")
	zapFlags := goflag.NewFlagSet("zap", goflag.ContinueOnError)
	o.zap.BindFlags(zapFlags)
	flags.AddGoFlagSet(zapFlags)
}
