// Command handoff-webhook serves the mutating admission webhook. See --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// version is set by the linker.
var version = "unknown"

func main() {
	if err := start(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "handoff-webhook:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.version {
		fmt.Println("handoff-webhook", version)
		return nil
	}
	debug.SetMemoryLimit(debug.SetMemoryLimit(-1) / 8 * 7) // GOMEMLIMIT is the container's limit, which also counts what Go does not
	log := zap.New(zap.UseFlagOptions(&o.zap))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	log.Info("starting", "version", version)
	return serve(ctx, o, log)
}
