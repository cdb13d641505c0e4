// Command bench measures the cost of handoff: the time of a review and of a write, the cost by size, the load that the webhook
// handles, the memory for a large cluster, the share of a cluster's writes that reach the webhook, what the guard adds to a
// write, and the time of an audit. It prints each number next to a reference that it measures in the same run, and writes all
// results as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ownership-handoff/handoff/test/bench/memory"
	"github.com/ownership-handoff/handoff/test/bench/peers"
)

var errMissed = errors.New("a target was missed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctrl.SetLogger(logr.Discard())
	err := start(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// start runs the benchmark, or one of the processes that it starts from the same program.
func start(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var o options
	o.add(flags)
	cacheName := flags.String("held", "", "internal: fill this `cache` and print its size")
	kubeconfig := flags.String("kubeconfig", "", "internal: kubeconfig `file` of the cluster to cache")
	autoscalers := flags.Int("autoscalers", 0, "internal: `number` of HorizontalPodAutoscalers in the cluster to cache")
	peer := flags.String("peer", "", "internal: serve this `webhook`")
	address := flags.String("address", "", "internal: `host:port` of the webhook")
	certificates := flags.String("certificates", "", "internal: `directory` with the webhook's certificate")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *cacheName != "":
		held, err := memory.Held(ctx, *kubeconfig, *cacheName, *autoscalers)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(held)
	case *peer != "":
		return peers.Serve(ctx, *peer, *address, *certificates)
	default:
		return run(ctx, o)
	}
}

// cacheProcess returns a command that runs this program to fill one cache and print its size.
func cacheProcess(ctx context.Context, kubeconfig, which string, autoscalers int) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	size := fmt.Sprintf("-autoscalers=%d", autoscalers)
	return exec.CommandContext(ctx, self, "-held="+which, "-kubeconfig="+kubeconfig, size), nil
}
