// Command kind tests an installation of handoff on a kind cluster. It creates the cluster, loads the image, installs
// cert-manager, and installs handoff each way in turn. It runs the end-to-end suite against the webhook in the cluster, and
// upgrades, rotates, deletes and uninstalls it during a steady stream of applies. It prints the results, and deletes the cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// options are the flags.
type options struct {
	name, nodeImage, kind, helm, certmanager string
	image, version, next, archives, ways     string
	releases, tests                          string
	keep                                     bool
}

func main() {
	var o options
	// Use a unique name: a killed run may have left its cluster behind, and several runs may be active.
	flag.StringVar(&o.name, "name", fmt.Sprintf("handoff-e2e-%d", os.Getpid()), "`name` of the kind cluster")
	flag.StringVar(&o.nodeImage, "node-image", os.Getenv("KIND_NODE_IMAGE"), "node `image` (default: that of kind)")
	flag.StringVar(&o.kind, "kind", "kind", "kind's `binary`")
	flag.StringVar(&o.helm, "helm", "bin/helm", "Helm's `binary`")
	flag.StringVar(&o.certmanager, "certmanager", "bin/certmanager",
		"`binary` of cert-manager's controllers, used if its release cannot be downloaded")
	flag.StringVar(&o.image, "image", "ghcr.io/ownership-handoff/handoff-webhook", "`repository` of the image under test")
	flag.StringVar(&o.version, "version", "", "`tag` of the image to install")
	flag.StringVar(&o.next, "next", "", "`tag` of the image to upgrade to")
	flag.StringVar(&o.archives, "archives", "", "comma-separated archive `files` that contain the image with both tags")
	flag.StringVar(&o.ways, "ways", ways, "comma-separated `ways` to install, tested in this order")
	flag.StringVar(&o.releases, "releases", "bin/release",
		"`folder` with the folders of releases, for the ways release and release-chart")
	flag.StringVar(&o.tests, "tests", "", "`pattern` of the end-to-end tests to run (default: all)")
	flag.BoolVar(&o.keep, "keep", false, "keep the cluster and print how to use it")
	flag.Parse()
	handofftest.Main("kind", func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) (err error) {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	c, err := create(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end(ctx, err)) }()
	manager, err := installCertManager(ctx, c, o.certmanager)
	if err != nil {
		return err
	}
	if manager != nil {
		defer func() { _ = manager.Stop(10 * time.Second) }()
	}
	p := proof{cluster: c, root: root, options: o}
	if err = p.all(ctx); err != nil && manager != nil { // before the error: logs of failed runs are read from their end
		fmt.Fprintf(os.Stderr, "cert-manager:\n%s\n", process.Tail(manager.Log(), 20))
	}
	return err
}

// result prints a result to standard output.
func result(what string, values ...string) {
	fmt.Printf("verified on kind: %s: %s\n", what, strings.Join(values, ", "))
}
