package main

import (
	goflag "flag"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/ownership-handoff/handoff/internal/protocol"
)

// namespaceVariable is the environment variable that the downward API sets.
const namespaceVariable = "POD_NAMESPACE"

// group is a titled group of flags in --help.
type group struct {
	title string
	flags *pflag.FlagSet
}

func (o *options) groups() []group {
	return []group{
		groupOf("Configuration", o.addConfiguration),
		groupOf("Serving", o.addServing),
		groupOf("Graceful shutdown", o.addShutdown),
		groupOf("Self-signed certificates", o.addSelfSigned),
		groupOf("Observability", o.addObservability),
	}
}

func groupOf(title string, add func(*pflag.FlagSet)) group {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	add(flags)
	return group{title, flags}
}

func (o *options) addConfiguration(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig `file`; if empty, the in-cluster configuration is used")
	flags.StringVar(&o.config, "config", "",
		"`file` with a HandoffConfiguration (config.ownership-handoff.io/v1alpha1): lists of field managers, scalers, packs and "+
			"rules. It is reloaded when it changes; while it is not valid, the last valid one applies, or the defaults, and "+
			"/readyz reports the error. If empty, the defaults apply, see docs/configuration.md")
	flags.BoolVar(&o.labelNamespaces, "label-namespaces", true,
		"repair the label ownership-handoff.io/mode of namespaces, which follows their annotation of that name, if the annotation "+
			"was written while no pod answered. Set it to false if the MutatingWebhookConfiguration selects all namespaces")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
}

func (o *options) addServing(flags *pflag.FlagSet) {
	flags.IntVar(&o.serving.Port, "webhook-port", 9443, "`port` on which POST /mutate is served, over TLS 1.3 and HTTP/1.1")
	flags.StringVar(&o.serving.CertDir, "webhook-cert-dir", "/etc/handoff/tls",
		"`directory` with the serving certificate, tls.crt and tls.key in PEM, which is reloaded when it changes. While the "+
			"files are missing, broken or expired, the last valid certificate is served, and /readyz reports the error")
	flags.StringVar(&o.serving.ClientCA, "client-ca", "",
		"`file` with CA certificates in PEM, which is reloaded when it changes. If set, --webhook-port requires a client "+
			"certificate that one of these CAs has signed; other clients fail in the TLS handshake. The API server presents a "+
			"client certificate if the kubeconfig of its --admission-control-config-file has one. If empty, any client is served")
	flags.StringArrayVar(&o.serving.ClientNames, "client-name", nil,
		"common `name` that is accepted in a client certificate; can be repeated. If none is given, any certificate signed by "+
			"--client-ca is accepted")
	flags.IntVar(&o.serving.MaxInFlight, "max-in-flight", 400,
		"maximum number of reviews processed at a time; a review beyond that is answered immediately: allowed, unmodified, with "+
			"a warning. 0 means no limit")
}

func (o *options) addShutdown(flags *pflag.FlagSet) {
	flags.DurationVar(&o.serving.ShutdownDelay, "shutdown-delay", 10*time.Second,
		"how long the server accepts requests, also on new connections, after SIGTERM. /readyz fails immediately, so that "+
			"clients have this time to switch to other replicas")
	flags.DurationVar(&o.serving.DrainTimeout, "drain-timeout", 15*time.Second,
		"grace period for requests in flight after --shutdown-delay. The pod's terminationGracePeriodSeconds must be longer than "+
			"both together")
}

func (o *options) addSelfSigned(flags *pflag.FlagSet) {
	flags.BoolVar(&o.selfSigned, "self-signed", false,
		"create and renew a CA and a serving certificate, write them to --webhook-cert-dir, and keep the caBundle of "+
			"--webhook-configuration up to date. All replicas share one Secret")
	flags.StringVar(&o.certs.Secret, "self-signed-secret", protocol.SelfSigned,
		"`name` of that Secret in --namespace; created if missing. If its ca.crt is missing, a new CA is created; if its tls.crt "+
			"is missing, a new certificate")
	flags.StringVar(&o.certs.Service, "service", "handoff-webhook", "`name` of the Service, used for the DNS names in the certificate")
	flags.StringVar(&o.certs.Configuration, "webhook-configuration", "handoff",
		"`name` of the MutatingWebhookConfiguration in which the caBundle is set")
	flags.StringVar(&o.certs.Namespace, "namespace", os.Getenv(namespaceVariable),
		"`namespace` in which handoff-webhook runs; defaults to $"+namespaceVariable)
}

func (o *options) addObservability(flags *pflag.FlagSet) {
	flags.StringVar(&o.metrics, "metrics-bind-address", ":8080",
		"`address` on which Prometheus metrics are served, under /metrics; 0 disables them")
	flags.StringVar(&o.health, "health-probe-bind-address", ":8081",
		"`address` on which /healthz and /readyz are served; 0 disables them. /readyz succeeds when the caches are synced and "+
			"their watches can be renewed, the certificate is valid and requests are served; otherwise it reports what fails and why")
	zapFlags := goflag.NewFlagSet("zap", goflag.ContinueOnError)
	o.zap.BindFlags(zapFlags)
	flags.AddGoFlagSet(zapFlags)
}
