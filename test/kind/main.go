// Command kind proves an installation of handoff on a kind cluster: it creates the cluster, loads the image, installs
// cert-manager and then handoff, each way in turn, runs the end-to-end suite against the webhook in the cluster, disturbs
// it in every way an operator can under a steady stream of applies, prints the figures, and deletes the cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// options are the flags.
type options struct {
	name, nodeImage, kind, helm, certmanager string
	image, version, next, archives, ways     string
	keep                                     bool
}

func main() {
	var o options
	// A name of its own: a run that was killed can have left its cluster, and another can be under way beside it.
	flag.StringVar(&o.name, "name", fmt.Sprintf("handoff-e2e-%d", os.Getpid()), "`name` of the kind cluster")
	flag.StringVar(&o.nodeImage, "node-image", os.Getenv("KIND_NODE_IMAGE"), "node `image`; empty: the one that kind has by default")
	flag.StringVar(&o.kind, "kind", "kind", "kind's `binary`")
	flag.StringVar(&o.helm, "helm", "bin/helm", "Helm's `binary`")
	flag.StringVar(&o.certmanager, "certmanager", "bin/certmanager",
		"`binary` of cert-manager's controllers, for where its release cannot be got")
	flag.StringVar(&o.image, "image", "ghcr.io/ownership-handoff/handoff-webhook", "`repository` of the image under test")
	flag.StringVar(&o.version, "version", "", "its `tag`")
	flag.StringVar(&o.next, "next", "", "the `tag` to upgrade to")
	flag.StringVar(&o.archives, "archives", "", "`files`, separated by commas, that hold the image with both tags")
	flag.StringVar(&o.ways, "ways", ways, "`ways` to install that are proven, in this order")
	flag.BoolVar(&o.keep, "keep", false, "leave the cluster, with handoff installed by the chart, and say how to get to it")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Whoever asks twice does not want to wait for an orderly end.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "kind:", err)
		os.Exit(1)
	}
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
	defer manager.stop()
	p := proof{cluster: c, root: root, options: o, figures: &figures{}}
	if err := p.all(ctx); err != nil {
		return fmt.Errorf("%w\n%s", err, manager.log())
	}
	p.figures.print(os.Stdout)
	return nil
}
