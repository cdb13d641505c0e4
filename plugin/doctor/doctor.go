// Package doctor checks an installation of the webhook: whether the API server calls it and gets an answer, and if not, why.
//
// It works with the permissions of its user and stores nothing: the only writes are dry runs and access reviews. What it cannot
// read for lack of permissions is a gap in the report, not an error.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/plugin/installation"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// Options configure a run.
type Options struct {
	// Config connects to the cluster.
	Config *rest.Config
	// Namespace is the namespace to check and to make dry runs in. If it is empty, all namespaces are checked.
	Namespace string
	// Current is the namespace for dry runs if it is empty and namespaces cannot be listed.
	Current string
	// Annotated finds the objects with the mode annotation in a namespace or, if it is empty, in all.
	Annotated func(ctx context.Context, namespace string) (found []source.Annotated, unread []string, err error)
	// Version is the plugin's version.
	Version string
	// Now is the time to which expiration dates are compared.
	Now time.Time
}

// discoveryTimeout limits each of the requests for the version and the resources of the API server.
const discoveryTimeout = 10 * time.Second

// diagnosis is a run. The checks fill in what later ones need.
type diagnosis struct {
	options   Options
	in        *installation.Installation
	objects   dynamic.Interface
	discovery discovery.DiscoveryInterface

	served     served
	selector   labels.Set // of the pods
	port       int32      // of the Service
	deployment *appsv1.Deployment
	pods       []corev1.Pod
	namespaces []corev1.Namespace // to check, nil if they cannot be read
	// answered reports whether a dry run was answered, silent whether one was not; version is the webhook's.
	answered, silent bool
	version          string
}

// check is a check of the table. One that needs the configuration or the Service is skipped without it.
type check struct {
	name  string
	run   func(*diagnosis, context.Context, *Check)
	needs need
}

type need int

const (
	nothing need = iota
	configuration
	service
)

// checks are all checks, in the order in which they run and are shown.
var checks = []check{
	{"api-server", (*diagnosis).checkAPIServer, nothing},
	{"configuration", (*diagnosis).checkConfiguration, nothing},
	{"service", (*diagnosis).checkService, service},
	{"pods", (*diagnosis).checkPods, service},
	{"certificate", (*diagnosis).checkCertificate, configuration},
	{"permissions", (*diagnosis).checkPermissions, service},
	{"namespaces", (*diagnosis).checkNamespaces, nothing},
	{"dry-run", (*diagnosis).checkDryRun, nothing},
	{"network", (*diagnosis).checkNetwork, service},
	{"changes", (*diagnosis).checkChanges, configuration},
	{"versions", (*diagnosis).checkVersions, nothing},
	{"guard", (*diagnosis).checkGuard, nothing},
}

// Run checks the installation. It returns an error only if the API server cannot be reached. When the context ends, the
// remaining checks have gaps.
func Run(ctx context.Context, o Options) (*Report, error) {
	d := &diagnosis{options: o}
	limited := rest.CopyConfig(o.Config)
	limited.Timeout = discoveryTimeout // its requests have no context
	var err error
	if d.discovery, err = discovery.NewDiscoveryClientForConfig(limited); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	if _, err := d.discovery.ServerVersion(); err != nil {
		return nil, err
	}
	if d.objects, err = dynamic.NewForConfig(o.Config); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	if d.in, err = installation.Of(ctx, o.Config); err != nil {
		return nil, err
	}
	report := newReport()
	for _, check := range checks {
		c := &Check{Name: check.name}
		if !d.lacks(c, check.needs) {
			check.run(d, ctx, c)
		}
		c.settle()
		report.Checks = append(report.Checks, c)
	}
	return report, nil
}

// lacks reports whether what a check needs is missing, and ends the check if it is.
func (d *diagnosis) lacks(c *Check, what need) bool {
	switch {
	case what == nothing:
		return false
	case d.in.Unread != nil:
		c.Result, c.Detail = Unknown, "the configuration cannot be read"
	case len(d.in.Configurations) == 0:
		c.skip("no configuration")
	case what == service && d.in.ServiceReference() == nil:
		c.skip("the API server calls a URL")
	default:
		return false
	}
	return true
}

// unread adds a gap about a request that has failed: the missing permission, or the error. The argument what names the objects
// as in "get secret/tls -n handoff-system".
func (c *Check) unread(what string, err error) {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		c.gap("%s: requires permission to %s", c.Name, what)
	case errors.Is(err, context.DeadlineExceeded):
		c.gap("%s: no time was left to %s; set a longer --deadline", c.Name, what)
	default:
		c.gap("%s: could not %s: %v", c.Name, what, err)
	}
}

// isAbsent reports whether an error says that the object, or its kind, does not exist.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// named returns an object's name as in kubectl's arguments.
func named(resource, name, namespace string) string {
	if namespace == "" {
		return resource + "/" + name
	}
	return resource + "/" + name + " -n " + namespace
}
