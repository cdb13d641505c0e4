package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// options are the flags.
type options struct {
	kubeconfig string
	config     string
	version    bool

	webhookPort   int
	certDir       string
	clientCA      string
	clientNames   []string
	maxInFlight   int
	shutdownDelay time.Duration
	drainTimeout  time.Duration

	selfSigned           bool
	selfSignedSecret     string
	service              string
	webhookConfiguration string
	namespace            string

	metrics string
	health  string
	zap     zap.Options
}

const usage = `handoff-webhook keeps what autoscalers, controllers and people own when a manifest is applied.

It serves POST /mutate for a MutatingWebhookConfiguration (see manifests/base), for namespaces and objects annotated
ownership-handoff.io/mode: enforce or warn. Whatever goes wrong inside, it lets the write through.

Usage:
  handoff-webhook [flags]

Examples:
  # In a cluster: everything from the service account, the certificate from a mounted Secret.
  handoff-webhook --webhook-cert-dir=/etc/handoff/tls

  # In a cluster that has nothing to make certificates: it makes its own.
  handoff-webhook --self-signed --namespace=handoff-system

  # Against another cluster, from a shell.
  handoff-webhook --kubeconfig=$HOME/.kube/config --webhook-port=9443 --webhook-cert-dir=./certs \
    --metrics-bind-address=127.0.0.1:8080 --health-probe-bind-address=127.0.0.1:8081
`

func parse(args []string) (options, error) {
	var o options
	flags := pflag.NewFlagSet("handoff-webhook", pflag.ContinueOnError)
	groups := o.groups()
	for _, g := range groups {
		flags.AddFlagSet(g.flags)
	}
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		for _, g := range groups {
			fmt.Fprintf(os.Stderr, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(110))
		}
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: handoff-webhook takes flags only, see --help", flags.Arg(0))
	}
	return o, o.validate()
}

// validate refuses what no start can make sense of, by the flag's name and with what to write.
func (o options) validate() error {
	switch {
	case len(o.clientNames) > 0 && o.clientCA == "":
		return fmt.Errorf("--client-name=%s: without --client-ca no client is asked for a certificate; give both", o.clientNames[0])
	case o.maxInFlight < 0:
		return fmt.Errorf("--max-in-flight=%d: write 0 for no limit, or how many", o.maxInFlight)
	case o.shutdownDelay < 0:
		return fmt.Errorf("--shutdown-delay=%s: write 0s for none, or how long", o.shutdownDelay)
	case o.drainTimeout < 0:
		return fmt.Errorf("--drain-timeout=%s: write 0s for none, or how long", o.drainTimeout)
	case o.webhookPort < 1 || o.webhookPort > 65535:
		return fmt.Errorf("--webhook-port=%d: write a port from 1 to 65535", o.webhookPort)
	case o.certDir == "":
		return errors.New("--webhook-cert-dir: it is empty; name the folder of tls.crt and tls.key")
	case o.selfSigned && o.namespace == "":
		return fmt.Errorf("--self-signed: say by --namespace, or by $%s, where the Secret %s is to be",
			namespaceVariable, o.selfSignedSecret)
	default:
		return o.validateNames()
	}
}

// validateNames refuses names that no object can have.
func (o options) validateNames() error {
	for _, flag := range []struct {
		name, value string
		refused     []string
	}{
		{"service", o.service, validation.IsDNS1035Label(o.service)},
		{"self-signed-secret", o.selfSignedSecret, validation.IsDNS1123Subdomain(o.selfSignedSecret)},
		{"webhook-configuration", o.webhookConfiguration, validation.IsDNS1123Subdomain(o.webhookConfiguration)},
		{"namespace", o.namespace, validation.IsDNS1123Label(o.namespace)},
	} {
		if len(flag.refused) == 0 || flag.name == "namespace" && flag.value == "" {
			continue
		}
		return fmt.Errorf("--%s=%q: it is not a name: %s", flag.name, flag.value, flag.refused[0])
	}
	return nil
}
