// Command bench measures the cost of handoff: the time of a review, the memory for a large cluster, the share of a
// cluster's writes that reach the webhook, and what the guard adds to a write. It prints each number next to a reference that
// it measures in the same run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ownership-handoff/handoff/test/bench/guard"
	"github.com/ownership-handoff/handoff/test/bench/handlers"
	"github.com/ownership-handoff/handoff/test/bench/memory"
	"github.com/ownership-handoff/handoff/test/bench/share"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

// part is a part of the table that can be measured separately.
type part struct {
	name    string
	measure func(ctx context.Context, progress io.Writer) ([]table.Row, error)
	note    string // printed after the table
}

func parts() []part {
	return []part{
		{name: "handler", measure: handlers.Compare},
		{name: "memory", measure: func(ctx context.Context, progress io.Writer) ([]table.Row, error) {
			return memory.Measure(ctx, progress, cacheProcess)
		}},
		{name: "share", measure: share.Measure, note: share.Mix},
		{name: "guard", measure: guard.Measure},
	}
}

var errMissed = errors.New("a target was missed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ctrl.SetLogger(logr.Discard())
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := flags.String("part", "", "comma-separated `parts` to measure: handler, memory, share, guard (default all)")
	strict := flags.Bool("strict", false, "exit with 1 if a target is missed")
	cacheName := flags.String("held", "", "internal: fill this `cache` and print its size")
	kubeconfig := flags.String("kubeconfig", "", "internal: kubeconfig `file` of the cluster to cache")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *cacheName != "" {
		size, err := memory.Held(ctx, *kubeconfig, *cacheName)
		if err != nil {
			return err
		}
		fmt.Println(size)
		return nil
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	return measure(ctx, chosen, *strict)
}

// choose returns the parts in a comma-separated list of names, or all parts if the list is empty.
func choose(names string) ([]part, error) {
	if names == "" {
		return parts(), nil
	}
	var chosen []part
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(parts(), func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown part %q: want handler, memory, share or guard", name)
		}
		chosen = append(chosen, parts()[i])
	}
	return chosen, nil
}

func measure(ctx context.Context, chosen []part, strict bool) error {
	var rows []table.Row
	for _, p := range chosen {
		measured, err := p.measure(ctx, os.Stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, measured...)
	}
	fmt.Printf("\n%s %s/%s, %d cores\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if err := table.Print(os.Stdout, rows); err != nil {
		return err
	}
	for _, p := range chosen {
		if p.note != "" {
			fmt.Print("\n", p.note)
		}
	}
	missed := slices.ContainsFunc(rows, func(r table.Row) bool {
		met, targeted := r.Met()
		return targeted && !met
	})
	if strict && missed {
		return errMissed
	}
	return nil
}

// cacheProcess returns a command that runs this program to fill one cache and print its size.
func cacheProcess(ctx context.Context, kubeconfig, which string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return exec.CommandContext(ctx, self, "-held="+which, "-kubeconfig="+kubeconfig), nil
}
