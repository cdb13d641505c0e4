// Command bench measures what handoff costs: the time of a review, the memory for a large cluster, and the share of a
// cluster's writes that come to the webhook at all. Each number stands beside one that was measured in the same run.
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

	"github.com/ownership-handoff/handoff/test/bench/handlers"
	"github.com/ownership-handoff/handoff/test/bench/memory"
	"github.com/ownership-handoff/handoff/test/bench/share"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

// part is a part of the table, which can be measured alone.
type part struct {
	name    string
	measure func(ctx context.Context, progress io.Writer) ([]table.Row, error)
	note    string // below the table
}

func parts() []part {
	return []part{
		{name: "handler", measure: handlers.Compare},
		{name: "memory", measure: func(ctx context.Context, progress io.Writer) ([]table.Row, error) {
			return memory.Measure(ctx, progress, holdingProcess)
		}},
		{name: "share", measure: share.Measure, note: share.Mix},
	}
}

var errMissed = errors.New("a target is missed")

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
	only := flags.String("part", "", "measure only these `parts`, separated by commas: handler, memory, share")
	strict := flags.Bool("strict", false, "exit with 1 when a target is missed")
	held := flags.String("held", "", "internal: hold this `cache` and print its size")
	kubeconfig := flags.String("kubeconfig", "", "internal: `file` of the cluster to hold")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *held != "" {
		size, err := memory.Held(ctx, *kubeconfig, *held)
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

// choose returns the parts of a list of names, all for none.
func choose(names string) ([]part, error) {
	if names == "" {
		return parts(), nil
	}
	var chosen []part
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(parts(), func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no part %q: want handler, memory or share", name)
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

// holdingProcess is this program once more, which holds a cache.
func holdingProcess(ctx context.Context, kubeconfig, which string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return exec.CommandContext(ctx, self, "-held="+which, "-kubeconfig="+kubeconfig), nil
}
