// Command bench measures what handoff costs: the time that it adds to a write through a real API server, and what happens to
// reviews at up to ten times the rate that the webhook can answer. It prints each figure next to a reference from the same run,
// and the targets.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ownership-handoff/handoff/test/bench/table"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	handofftest.Main("bench", start)
}

// start runs the benchmark, or the webhook that it starts from the same program.
func start(ctx context.Context) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError) // controller-runtime adds its own flags to flag.CommandLine
	names := flags.String("part", "latency,load", "comma-separated `parts` to measure")
	version := flags.String("version", "unknown", "`version` of what is measured, for the results")
	writes := flags.Int("writes", 2000, "`number` of writes of the smallest object in each namespace")
	address := flags.String("peer", "", "internal: serve the constant patch at this `host:port`")
	certificates := flags.String("certificates", "", "internal: `directory` with the certificate for it")
	_ = flags.Parse(os.Args[1:]) // exits on an error
	if *address != "" {
		return servePeer(ctx, *address, *certificates)
	}
	fmt.Printf("version %s, %s\n", *version, machine())
	for name := range strings.SplitSeq(*names, ",") {
		measured, err := measure(ctx, name, *writes, os.Stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := table.Print(os.Stdout, measured); err != nil {
			return err
		}
	}
	return nil
}

// measure measures one part.
func measure(ctx context.Context, part string, writes int, progress io.Writer) ([]table.Row, error) {
	began := time.Now()
	defer func() { fmt.Fprintf(progress, "%s: ended after %.0f s\n", part, time.Since(began).Seconds()) }()
	switch part {
	case "latency":
		return measureLatency(ctx, progress, writes)
	case "load":
		return measureLoad(ctx, progress)
	default:
		return nil, errors.New("unknown part: want latency or load")
	}
}

// machine describes this machine, with its load before the benchmark: that of others.
func machine() string {
	described := fmt.Sprintf("%s %s/%s, %d cores", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		minute, _, _ := strings.Cut(string(text), " ")
		described += ", load average " + minute + " before"
	}
	return described
}
