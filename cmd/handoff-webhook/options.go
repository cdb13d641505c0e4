package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/ownership-handoff/handoff/webhook/certs"
	"github.com/ownership-handoff/handoff/webhook/serving"
)

// options are the values of the flags.
type options struct {
	kubeconfig string
	config     string
	version    bool

	labelNamespaces bool

	serving serving.Options

	selfSigned bool
	certs      certs.Options

	metrics string
	health  string
	zap     zap.Options
}

const usage = `handoff-webhook keeps fields that autoscalers, controllers and users own when a manifest is applied.

It serves POST /mutate for a MutatingWebhookConfiguration (see manifests/base). It acts in namespaces with the annotation
ownership-handoff.io/mode: enforce or warn, and on objects with the label of that name. If an error occurs, it allows the
write unmodified.

Usage:
  handoff-webhook [flags]

Examples:
  # Run in a cluster, with the pod's ServiceAccount and the certificate from a mounted Secret.
  handoff-webhook --webhook-cert-dir=/etc/handoff/tls

  # Run in a cluster without cert-manager, with self-signed certificates.
  handoff-webhook --self-signed --namespace=handoff-system

  # Run outside the cluster, with a kubeconfig.
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
		return o, fmt.Errorf("unexpected argument %q: handoff-webhook only accepts flags, see --help", flags.Arg(0))
	}
	return o, o.validate()
}

// validate returns an error for the first invalid flag. The error names the flag and the remedy.
func (o options) validate() error {
	switch {
	case len(o.serving.ClientNames) > 0 && o.serving.ClientCA == "":
		return fmt.Errorf("--client-name=%s: requires --client-ca; set --client-ca as well", o.serving.ClientNames[0])
	case o.serving.MaxInFlight < 0:
		return fmt.Errorf("--max-in-flight=%d: must not be negative; use 0 for no limit", o.serving.MaxInFlight)
	case o.serving.ShutdownDelay < 0:
		return fmt.Errorf("--shutdown-delay=%s: must not be negative; use 0s for no delay", o.serving.ShutdownDelay)
	case o.serving.DrainTimeout < 0:
		return fmt.Errorf("--drain-timeout=%s: must not be negative; use 0s for no grace period", o.serving.DrainTimeout)
	case o.serving.Port < 1 || o.serving.Port > 65535:
		return fmt.Errorf("--webhook-port=%d: must be a port from 1 to 65535", o.serving.Port)
	case o.serving.CertDir == "":
		return errors.New("--webhook-cert-dir: must not be empty; set it to the directory with tls.crt and tls.key")
	case o.selfSigned && o.certs.Namespace == "":
		return fmt.Errorf("--self-signed: the namespace of Secret %s is unknown; set --namespace or $%s",
			o.certs.Secret, namespaceVariable)
	default:
		return o.validateNames()
	}
}

// validateNames returns an error for a name that is not valid for its kind of object.
func (o options) validateNames() error {
	for _, flag := range []struct {
		name, value string
		problems    []string
	}{
		{"service", o.certs.Service, validation.IsDNS1035Label(o.certs.Service)},
		{"self-signed-secret", o.certs.Secret, validation.IsDNS1123Subdomain(o.certs.Secret)},
		{"webhook-configuration", o.certs.Configuration, validation.IsDNS1123Subdomain(o.certs.Configuration)},
		{"namespace", o.certs.Namespace, validation.IsDNS1123Label(o.certs.Namespace)},
	} {
		if len(flag.problems) == 0 || flag.name == "namespace" && flag.value == "" {
			continue
		}
		return fmt.Errorf("--%s=%q: not a valid name: %s", flag.name, flag.value, flag.problems[0])
	}
	return nil
}
