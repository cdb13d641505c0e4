// Package doctor checks an installation of the webhook: whether the API server calls it and gets an answer, and if not, why.
//
// It works with the permissions of its user and stores nothing: the only writes are dry runs and access reviews. What it cannot
// read for lack of permissions is a gap in the report, not an error.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	registration "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/installation"
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

// discoveryTimeout limits each of the requests for the version and the resources of the API server.
const discoveryTimeout = 10 * time.Second

// diagnosis is a run. The checks fill in what later ones need.
type diagnosis struct {
	options Options
	check   *Check // the current one

	in            *installation.Installation
	config        *rest.Config
	discovery     discovery.DiscoveryInterface
	running       *apiversion.Info
	resources     []*metav1.APIResourceList // nil if they cannot be read
	deployment    *appsv1.Deployment
	deploymentErr error
	pods          []corev1.Pod
	namespaces    []corev1.Namespace // to check, nil if they cannot be read
	// answered reports whether a dry run was answered, silent whether one was not; version is the webhook's.
	answered, silent bool
	version          string
}

// checks are all checks, in the order in which they run and are shown. Those that need the configuration or the Service are skipped
// without.
var checks = []struct {
	name  string
	run   func(*diagnosis, context.Context)
	needs string
}{
	{"api-server", (*diagnosis).checkAPIServer, ""},
	{"configuration", (*diagnosis).checkConfiguration, ""},
	{"service", (*diagnosis).checkService, "service"},
	{"pods", (*diagnosis).checkPods, "service"},
	{"certificate", (*diagnosis).checkCertificate, "service"},
	{"permissions", (*diagnosis).checkPermissions, "service"},
	{"namespaces", (*diagnosis).checkNamespaces, ""},
	{"dry-run", (*diagnosis).checkDryRun, ""},
	{"network", (*diagnosis).checkNetwork, "service"},
	{"changes", (*diagnosis).checkChanges, "configuration"},
	{"versions", (*diagnosis).checkVersions, ""},
	{"guard", (*diagnosis).checkGuard, ""},
}

// Run checks the installation. It returns an error only if the API server cannot be reached. When the context ends, the
// remaining checks have gaps.
func Run(ctx context.Context, o Options) (*Report, error) {
	config, err := o.Cluster.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	d := &diagnosis{options: o, config: config}
	limited := rest.CopyConfig(config)
	limited.Timeout = discoveryTimeout // its requests have no context
	if d.discovery, err = discovery.NewDiscoveryClientForConfig(limited); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	if d.running, err = d.discovery.ServerVersion(); err != nil {
		return nil, err
	}
	if d.in, err = installation.Of(ctx, config); err != nil {
		return nil, err
	}
	d.deployment, d.deploymentErr = d.in.Deployment(ctx)
	report := &Report{APIVersion: explain.APIVersion, Kind: "Diagnosis"}
	for _, check := range checks {
		d.check = &Check{Name: check.name}
		if missing := d.lacks(check.needs); missing != "" {
			d.check.skip(missing)
		} else {
			check.run(d, ctx)
		}
		d.check.settle()
		report.Checks = append(report.Checks, d.check)
	}
	if o.Namespace != "" && d.answered && !d.silent { // the question of a team, which an administrator's checks would not answer better
		for _, c := range report.Checks {
			c.waive()
		}
	}
	return report, nil
}

// lacks returns why a check is skipped that needs the configuration or the Service, "" if it is not.
func (d *diagnosis) lacks(needs string) string {
	switch {
	case needs == "":
		return ""
	case d.in.Unread != nil:
		return "the configuration cannot be read"
	case d.in.Missing():
		return "no configuration"
	case needs == "service" && d.in.ServiceReference() == nil:
		return "the API server calls a URL"
	default:
		return ""
	}
}

// get reads an object for a check. It returns nil if there is none, or if it cannot be read, which is a gap.
func get[T any](ctx context.Context, d *diagnosis, namespace, name string) (o *T, absent bool) {
	resource, singular := resourceOf[T](d)
	o, err := installation.Get[T](ctx, d.in, resource, namespace, name)
	if absent = apierrors.IsNotFound(err); err != nil && !absent {
		d.unread("get "+named(singular, name, namespace), err)
	}
	return o, absent
}

// list reads objects for a check; ok is false if they cannot be read, which is a gap.
func list[T any](ctx context.Context, d *diagnosis, namespace, selector string) (all []T, ok bool) {
	resource, _ := resourceOf[T](d)
	all, err := installation.List[T](ctx, d.in, resource, namespace, selector)
	if err != nil {
		d.unread("list "+inNamespace(resource.GroupResource().String(), namespace), err)
	}
	return all, err == nil
}

// resourceOf returns the resource of a type of Kubernetes, in a version that the API server serves, and its singular.
func resourceOf[T any](d *diagnosis) (resource schema.GroupVersionResource, singular string) {
	kinds, _, _ := scheme.Scheme.ObjectKinds(any(new(T)).(runtime.Object)) //nolint:forcetypeassert // of the scheme
	resource, one := meta.UnsafeGuessKindToResource(kinds[0])
	if served := d.versionsOf(resource.GroupResource()); len(served) > 0 && !slices.Contains(served, resource) {
		resource = served[0]
	}
	return resource, one.Resource
}

// unread adds a gap about a request that has failed: the missing permission, or the error. The argument what names the objects
// as in "get secret/tls -n handoff-system".
func (d *diagnosis) unread(what string, err error) {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		d.check.requires(what)
	case errors.Is(err, context.DeadlineExceeded):
		d.check.gap("no time was left to %s; set a longer --deadline", what)
	default:
		d.check.gap("could not %s: %v", what, err)
	}
}

// named returns an object's name as in kubectl's arguments.
func named(resource, name, namespace string) string { return inNamespace(resource+"/"+name, namespace) }

func inNamespace(text, namespace string) string {
	if namespace == "" {
		return text
	}
	return text + " -n " + namespace
}

func (d *diagnosis) namespace() string {
	if d.in.ServiceReference() != nil {
		return d.in.ServiceReference().Namespace
	}
	return "handoff-system" // as in the manifests
}

// configuration returns the first configuration that calls handoff, an empty one if there is none.
func (d *diagnosis) configuration() registration.MutatingWebhookConfiguration {
	if len(d.in.Configurations) == 0 {
		return registration.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "handoff"}}
	}
	return d.in.Configurations[0]
}

func (d *diagnosis) object() string {
	return named("mutatingwebhookconfiguration", d.configuration().Name, "")
}

// workload names the Deployment, or else the configuration.
func (d *diagnosis) workload() string {
	if d.deployment != nil {
		return named("deployment.apps", d.deployment.Name, d.deployment.Namespace)
	}
	return d.object()
}

// flag returns the value of a flag of the webhook, or the default.
func (d *diagnosis) flag(name, byDefault string) string {
	if value, set := installation.Flag(d.deployment, name); set {
		return value
	}
	return byDefault
}

// selfSigned reports whether the webhook issues its own certificates.
func (d *diagnosis) selfSigned() bool { return d.flag("self-signed", "false") == "true" }

// releaseName is Helm's annotation of the objects of a release.
const releaseName = "meta.helm.sh/release-name"

// reinstall returns the command that restores what the manifests contain.
func (d *diagnosis) reinstall() string {
	if annotations := d.configuration().Annotations; annotations[releaseName] != "" {
		return fmt.Sprintf("helm upgrade %s oci://ghcr.io/ownership-handoff/charts/handoff -n %s --reuse-values",
			annotations[releaseName], annotations["meta.helm.sh/release-namespace"])
	}
	return "run the command that installed handoff again: kubectl apply -k DIRECTORY, or helm upgrade"
}

// kubectl returns a command in the namespace of the installation.
func (d *diagnosis) kubectl(command string) string {
	return "kubectl -n " + d.namespace() + " " + command
}

func (d *diagnosis) logs() string { return d.ofPods("logs") + " --tail=20" }

// ofPods returns a command about the pods.
func (d *diagnosis) ofPods(command string) string {
	return d.kubectl(command + " -l " + d.in.Selector.String())
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
