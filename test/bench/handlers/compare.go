package handlers

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

const (
	// rounds is odd, so that there is a middle one.
	rounds = 7
	// roundTime is how long each side is measured in each round, in the syntax of -test.benchtime.
	roundTime = "300ms"
)

// comparison is a review that both handlers answer.
type comparison struct {
	name, review, mode string
	rules              []config.ControllerRule
	// patched reports whether handoff must return a patch. A handler with a wrong answer is not measured.
	patched bool
	target  float64
}

// The upper limits for the time of a review, relative to the reference: with nothing to do, and with a field kept.
const (
	idleTarget = 0.15
	keptTarget = 0.25
)

// comparisons returns reviews of an object of 3 KB, and of one of 13 KB. A review contains an object twice.
func comparisons() []comparison {
	const (
		idle, kept, keptOnly = "large-nothing-to-do", "large-kept", "large-kept-and-nothing-else"
		smallIdle, smallKept = "kubectl-set-image-while-hpa-scaled", "apply-unchanged-while-hpa-scaled"
		enforce              = "enforce"
	)
	ten := TenRules()
	return []comparison{
		{name: "nothing to do", review: smallIdle, mode: enforce, target: idleTarget},
		{name: "field kept, nothing else changed", review: smallKept, mode: enforce, patched: true, target: keptTarget},
		{name: "namespace not opted in", review: idle},
		{name: "nothing to do", review: idle, mode: enforce, target: idleTarget},
		{name: "nothing to do, ten rules", review: idle, mode: enforce, rules: ten, target: idleTarget},
		{name: "field kept, image changed", review: kept, mode: enforce, patched: true, target: keptTarget},
		{name: "field kept, image changed, ten rules", review: kept, mode: enforce, rules: ten, patched: true, target: keptTarget},
		{name: "field kept, nothing else changed", review: keptOnly, mode: enforce, patched: true, target: keptTarget},
	}
}

// Compare measures both handlers with recorded reviews of about 8 KB and 30 KB.
func Compare(ctx context.Context, progress io.Writer) ([]table.Row, error) {
	testing.Init() // registers test.benchtime
	if err := flag.CommandLine.Set("test.benchtime", roundTime); err != nil {
		return nil, fmt.Errorf("setting the time of a benchmark: %w", err)
	}
	var rows []table.Row
	for _, c := range comparisons() {
		row, err := c.measure(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(progress, "handler: %s: measured in %d rounds of %s\n", c.name, rounds, roundTime)
		rows = append(rows, row)
	}
	return rows, nil
}

func (c comparison) measure(ctx context.Context) (table.Row, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	body, err := Review(c.review)
	if err != nil {
		return table.Row{}, err
	}
	exchange, err := NewExchange(body)
	if err != nil {
		return table.Row{}, err
	}
	handoff, err := Handoff(ctx, Options{Mode: c.mode, Namespace: c.review, Rules: c.rules})
	if err != nil {
		return table.Row{}, err
	}
	plain, err := ControllerRuntime()
	if err != nil {
		return table.Row{}, err
	}
	if err := c.check(exchange, handoff, c.patched); err != nil {
		return table.Row{}, fmt.Errorf("handoff: %w", err)
	}
	if err := c.check(exchange, plain, false); err != nil {
		return table.Row{}, fmt.Errorf("controller-runtime: %w", err)
	}
	ours, theirs, ratio := interleaved(exchange, handoff, plain)
	return table.Row{
		What:      fmt.Sprintf("handler, %.1f KB, %s", float64(len(body))/1000, c.name),
		Handoff:   describe(ours),
		Reference: describe(theirs) + ", no-op controller-runtime webhook",
		Ratio:     table.Ratio{Value: ratio},
		Target:    table.Ratio{Value: c.target},
	}, nil
}

// check verifies that a handler returns the expected answer.
func (c comparison) check(exchange *Exchange, handler http.Handler, patched bool) error {
	answer, err := exchange.Answer(handler)
	if err != nil {
		return err
	}
	if got := len(answer.Patch) > 0; got != patched {
		return fmt.Errorf("want a patch: %t, got patch %q with warnings %q", patched, answer.Patch, answer.Warnings)
	}
	return nil
}

// interleaved measures both handlers round by round, so that other load on the machine affects both. It returns the median
// result of each and the median of the rounds' ratios.
func interleaved(exchange *Exchange, a, b http.Handler) (ofA, ofB testing.BenchmarkResult, ratio float64) {
	allA, allB := make([]testing.BenchmarkResult, rounds), make([]testing.BenchmarkResult, rounds)
	ratios := make([]float64, rounds)
	for round := range rounds {
		measureA := func() { allA[round] = testing.Benchmark(exchange.Benchmark(a)) }
		measureB := func() { allB[round] = testing.Benchmark(exchange.Benchmark(b)) }
		if round%2 == 0 {
			measureA()
			measureB()
		} else {
			measureB()
			measureA()
		}
		ratios[round] = float64(allA[round].NsPerOp()) / float64(allB[round].NsPerOp())
	}
	slices.Sort(ratios)
	return median(allA), median(allB), ratios[rounds/2]
}

func median(results []testing.BenchmarkResult) testing.BenchmarkResult {
	slices.SortFunc(results, func(a, b testing.BenchmarkResult) int { return cmp.Compare(a.NsPerOp(), b.NsPerOp()) })
	return results[len(results)/2]
}

func describe(r testing.BenchmarkResult) string {
	return fmt.Sprintf("%d ns/op %d B/op %d allocs/op", r.NsPerOp(), r.AllocedBytesPerOp(), r.AllocsPerOp())
}
