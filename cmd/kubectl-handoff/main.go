// Command kubectl-handoff is a kubectl plugin that shows and changes who owns each field. See --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/ownership-handoff/handoff/plugin/cli"
)

// version is set by the linker.
var version = "unknown"

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// client-go also logs errors that it returns.
	klog.SetLogger(logr.Discard())
	return cli.Run(ctx, cli.Environment{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Version:   version,
		Now:       time.Now,
	}, os.Args[1:])
}
