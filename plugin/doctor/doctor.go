// Package doctor checks an installation of the webhook: whether the API server calls it and gets an answer, and if not, why.
//
// It works with the permissions of its user and stores nothing: the only writes are dry runs and access reviews. What it cannot
// read for lack of permissions is a gap in the report, not an error.
package doctor

import (
	"context"
	"time"

	registration "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Options configure a run.
type Options struct {
	Cluster genericclioptions.RESTClientGetter
	// Namespace is the namespace to check and to make dry runs in. If it is empty, all namespaces are checked.
	Namespace string
	// Version is the plugin's version.
	Version string
	// Now is the time to which expiration dates are compared.
	Now time.Time
}

// diagnosis is a run. The checks fill in what later ones need.
type diagnosis struct {
	options Options
	check   *Check // the current one

	in        *installation.Installation
	config    *rest.Config
	discovery discovery.DiscoveryInterface
	served    source.Served
	// configuration is the first one that calls handoff, an empty one if there is none, service the Service that it names, and
	// deployment the Deployment of the pods, each nil if it is unknown. namespace is theirs.
	configuration registration.MutatingWebhookConfiguration
	service       *registration.ServiceReference
	deployment    *appsv1.Deployment
	namespace     string
	selector      string             // of the pods
	namespaces    []corev1.Namespace // to check, nil if they cannot be read
	// answered reports whether a dry run was answered; version is the webhook's.
	answered bool
	version  string
}

// checks are all checks, in the order in which they run and are shown.
var checks = []struct {
	name string
	run  func(*diagnosis, context.Context)
	// ofService reports whether the check is skipped unless the Service is known that the API server calls.
	ofService bool
}{
	{"api-server", (*diagnosis).checkAPIServer, false},
	{"configuration", (*diagnosis).checkConfiguration, false},
	{"pods", (*diagnosis).checkPods, true},
	{"certificate", (*diagnosis).checkCertificate, true},
	{"permissions", (*diagnosis).checkPermissions, true},
	{"namespaces", (*diagnosis).checkNamespaces, false},
	{"dry-run", (*diagnosis).checkDryRun, false},
	{"network", (*diagnosis).checkNetwork, true},
	{"changes", (*diagnosis).checkChanges, true},
	{"versions", (*diagnosis).checkVersions, false},
	{"guard", (*diagnosis).checkGuard, false},
}

// Run checks the installation. It returns an error only if the API server cannot be reached. When the context ends, the
// remaining checks have gaps.
func Run(ctx context.Context, o Options) (*Report, error) {
	config, err := o.Cluster.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	d := &diagnosis{options: o, config: config, namespace: "handoff-system", selector: "app.kubernetes.io/name=handoff"} // as shipped
	d.configuration.Name = "handoff"                                                                                     // likewise
	if d.in, err = installation.Of(ctx, config); err != nil {
		return nil, err
	}
	limited := rest.CopyConfig(config)
	limited.Timeout = 10 * time.Second // discovery has no context
	if d.discovery, err = discovery.NewDiscoveryClientForConfig(limited); err != nil {
		return nil, err
	}
	if len(d.in.Configurations) > 0 {
		d.configuration = d.in.Configurations[0]
	}
	if d.service = d.in.ServiceReference(); d.service != nil {
		d.namespace = d.service.Namespace
	}
	if d.deployment, _ = d.in.Deployment(ctx); d.deployment != nil { // the error is a gap of the pods
		d.selector = metav1.FormatLabelSelector(d.deployment.Spec.Selector)
	}
	report := &Report{}
	for _, check := range checks {
		d.check = &Check{Name: check.name}
		if check.ofService && d.service == nil {
			d.check.skip("no Service is known that the API server calls")
		} else {
			check.run(d, ctx)
		}
		d.check.settle()
		report.Checks = append(report.Checks, d.check)
	}
	if o.Namespace != "" && d.answered { // the question of a team, which an administrator's checks would not answer better
		for _, check := range report.Checks {
			check.waive()
		}
	}
	return report, nil
}

// object names the configuration.
func (d *diagnosis) object() string {
	return "mutatingwebhookconfiguration/" + d.configuration.Name
}

// named returns the name of an object of the installation as in kubectl's arguments.
func (d *diagnosis) named(resource, name string) string {
	return resource + "/" + name + " -n " + d.namespace
}

// selfSigned reports whether the webhook issues its own certificates.
func (d *diagnosis) selfSigned() bool {
	return installation.Flag(d.deployment, "self-signed", "false") == "true"
}

// reinstall is how to restore what the manifests contain.
const reinstall = "run the command that installed handoff again: kubectl apply -k DIRECTORY, or helm upgrade"

// kubectl returns a command in the namespace of the installation, and logs the one that shows the logs of the pods.
func (d *diagnosis) kubectl(command string) string {
	return "kubectl -n " + d.namespace + " " + command
}

func (d *diagnosis) logs() string { return d.kubectl("logs -l " + d.selector + " --tail=20") }
