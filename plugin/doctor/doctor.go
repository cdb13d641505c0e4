// Package doctor checks an installation of the webhook: whether the API server calls it and gets an answer, and if not, why.
//
// It works with the permissions of its user and stores nothing: the only writes are dry runs and access reviews. What it cannot
// read for lack of permissions is a gap in the report, not an error.
package doctor

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/plugin/source"
)

// Options configure a run.
type Options struct {
	// Config connects to the cluster.
	Config *rest.Config
	// Namespace is the namespace to check and to make dry runs in. If it is empty, all namespaces are checked.
	Namespace string
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
	objects   dynamic.Interface
	discovery discovery.DiscoveryInterface

	served  served
	install installation
	spaces  namespaces
	reply   reply
}

// Run checks the installation. It returns an error only if the API server cannot be reached. When the context ends, the
// remaining checks have gaps.
func Run(ctx context.Context, o Options) (*Report, error) {
	d := &diagnosis{options: o}
	var err error
	if d.objects, err = dynamic.NewForConfig(o.Config); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	limited := rest.CopyConfig(o.Config)
	limited.Timeout = discoveryTimeout // its requests have no context
	if d.discovery, err = discovery.NewDiscoveryClientForConfig(limited); err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	version, err := d.discovery.ServerVersion()
	if err != nil {
		return nil, err
	}
	report := newReport()
	for _, step := range []struct {
		name  string
		check func(context.Context, *Check)
	}{
		{"api-server", func(_ context.Context, c *Check) { d.checkAPIServer(c, version) }},
		{"configuration", d.checkConfiguration},
		{"service", d.checkService},
		{"pods", d.checkPods},
		{"certificate", d.checkCertificate},
		{"permissions", d.checkPermissions},
		{"namespaces", d.checkNamespaces},
		{"dry-run", d.checkDryRun},
		{"network", d.checkNetwork},
		{"changes", d.checkChanges},
		{"versions", d.checkVersions},
		{"guard", d.checkGuard},
	} {
		c := &Check{Name: step.name}
		step.check(ctx, c)
		c.settle()
		report.Checks = append(report.Checks, c)
	}
	return report, nil
}
