package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/audit"
	"github.com/ownership-handoff/handoff/test/bench/guard"
	"github.com/ownership-handoff/handoff/test/bench/handlers"
	"github.com/ownership-handoff/handoff/test/bench/latency"
	"github.com/ownership-handoff/handoff/test/bench/load"
	"github.com/ownership-handoff/handoff/test/bench/memory"
	"github.com/ownership-handoff/handoff/test/bench/profile"
	"github.com/ownership-handoff/handoff/test/bench/share"
	"github.com/ownership-handoff/handoff/test/bench/size"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

// options are the flags of the benchmark.
type options struct {
	parts, version, folder, page string
	strict                       bool
	workloads                    int
}

func (o *options) add(flags *flag.FlagSet) {
	flags.StringVar(&o.parts, "part", "", "comma-separated `parts` to measure: "+names()+" (default all)")
	flags.StringVar(&o.version, "version", "unknown", "`version` of what is measured, for the results")
	flags.StringVar(&o.folder, "results", "bin/bench", "`folder` of the results, a JSON file for each part")
	flags.StringVar(&o.page, "page", "", "`file` to write with the last results of all parts, in Markdown")
	flags.IntVar(&o.workloads, "workloads", 50_000, "`number` of workloads to audit")
	flags.BoolVar(&o.strict, "strict", false, "exit with 1 if a target is missed")
}

// part is a part of the benchmark that can be measured separately.
type part struct {
	name    string
	measure measurement
	note    string // printed after the table
}

// measurement measures a part, and writes its progress.
type measurement func(ctx context.Context, progress io.Writer) (table.Result, error)

// parts returns all parts, with the options of the benchmark.
func parts(o options) []part {
	return []part{
		{name: "handler", measure: rowsOf(handlers.Compare)},
		{name: "profile", measure: func(ctx context.Context, progress io.Writer) (table.Result, error) {
			return profile.Measure(ctx, progress, o.folder)
		}},
		{name: "size", measure: size.Measure},
		{name: "latency", measure: latency.Measure},
		{name: "load", measure: load.Measure},
		{name: "memory", measure: rowsOf(func(ctx context.Context, progress io.Writer) ([]table.Row, error) {
			return memory.Measure(ctx, progress, cacheProcess)
		})},
		{name: "cluster", measure: func(ctx context.Context, progress io.Writer) (table.Result, error) {
			return memory.Clusters(ctx, progress, cacheProcess)
		}},
		{name: "share", measure: rowsOf(share.Measure), note: share.Mix},
		{name: "guard", measure: rowsOf(guard.Measure)},
		{name: "audit", measure: func(ctx context.Context, progress io.Writer) (table.Result, error) {
			return audit.Measure(ctx, progress, o.workloads)
		}},
	}
}

// rowsOf adapts a measurement without plots.
func rowsOf(measure func(context.Context, io.Writer) ([]table.Row, error)) measurement {
	return func(ctx context.Context, progress io.Writer) (table.Result, error) {
		rows, err := measure(ctx, progress)
		return table.Result{Rows: rows}, err
	}
}

func names() string {
	all := parts(options{})
	list := make([]string, len(all))
	for i, p := range all {
		list[i] = p.name
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// choose returns the parts to measure.
func choose(o options) ([]part, error) {
	all := parts(o)
	if o.parts == "" {
		return all, nil
	}
	var chosen []part
	for name := range strings.SplitSeq(o.parts, ",") {
		i := slices.IndexFunc(all, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown part %q: want %s", name, names())
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// run measures parts, saves the result of each as soon as it is known, and prints all of them. A part that fails does not prevent
// the others from being measured.
func run(ctx context.Context, o options) error {
	chosen, err := choose(o)
	if err != nil {
		return err
	}
	machine := machine()
	var rows []table.Row
	var failures []error
	for _, p := range chosen {
		fmt.Fprintf(os.Stderr, "\n%s: started\n", p.name)
		began := time.Now()
		result, err := p.measure(ctx, os.Stderr)
		if err == nil {
			result.Part, result.Machine, result.Version = p.name, machine, o.version
			err = result.Save(o.folder)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", p.name, err))
			fmt.Fprintf(os.Stderr, "%s: failed: %v\n", p.name, err)
			if ctx.Err() != nil {
				break
			}
			continue
		}
		rows = append(rows, result.Rows...)
		fmt.Fprintf(os.Stderr, "%s: done after %.0f s\n", p.name, time.Since(began).Seconds())
	}
	failures = append(failures, show(os.Stdout, machine, rows, chosen))
	if o.page != "" {
		failures = append(failures, writePage(o))
	}
	if o.strict && slices.ContainsFunc(rows, missed) {
		failures = append(failures, errMissed)
	}
	return errors.Join(failures...)
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

func show(w io.Writer, machine string, rows []table.Row, of []part) error {
	fmt.Fprintf(w, "\n%s\n\n", machine)
	if err := table.Print(w, rows); err != nil {
		return err
	}
	for _, p := range of {
		if p.note != "" {
			fmt.Fprint(w, "\n", p.note)
		}
	}
	return nil
}

func missed(r table.Row) bool {
	met, targeted := r.Met()
	return targeted && !met
}
