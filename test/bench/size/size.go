// Package size measures how the CPU time of a review grows: with the size of the object, its managedFields entries, the kept
// fields, and the rules of the configuration.
package size

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/ownership-handoff/handoff/config"
	"github.com/ownership-handoff/handoff/test/bench/handlers"
	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

// dimension is one way in which a review, or what it is decided by, can grow.
type dimension struct {
	name, title string
	steps       []int
	shape       func(n int) shape
	// rules returns the number of rules; nil for one.
	rules func(n int) int
	// bytes reports that the cost is plotted over the size of the object instead of n.
	bytes bool
}

func dimensions() []dimension {
	const few = 10
	return []dimension{
		{
			name: "object", title: "object of 1 KB to 1.5 MB", bytes: true, steps: []int{1, 10, 100, 1000, 10_000, 35_000},
			shape: func(n int) shape { return shape{kept: 1, other: n} },
		},
		{
			name: "entries", title: "managedFields entries", steps: []int{1, 3, 10, 30, 100},
			shape: func(n int) shape { return shape{kept: few, other: few, entries: n} },
		},
		{
			name: "kept", title: "kept fields", steps: []int{1, 10, 100, 1000, 10_000},
			shape: func(n int) shape { return shape{kept: n} },
		},
		{
			name: "rules", title: "controller rules", steps: []int{10, 30, 100, 300, 1000},
			shape: func(int) shape { return shape{kept: few, other: few} }, rules: func(n int) int { return n },
		},
	}
}

// step is the cost at one size.
type step struct {
	n, body, object    int
	handoff, reference time.Duration
}

// Measure measures each dimension beside the webhook of controller-runtime that only says allowed.
func Measure(ctx context.Context, progress io.Writer) (result table.Result, err error) {
	for _, d := range dimensions() {
		var steps []step
		for _, n := range d.steps {
			s, err := d.measure(ctx, n)
			if err != nil {
				return result, fmt.Errorf("%s, %d: %w", d.name, n, err)
			}
			steps = append(steps, s)
		}
		fmt.Fprintf(progress, "size: %s measured in %d steps\n", d.title, len(steps))
		d.report(steps, &result)
	}
	return result, nil
}

func (d dimension) measure(ctx context.Context, n int) (s step, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	of := d.shape(n)
	body, err := of.review()
	if err != nil {
		return s, err
	}
	live, err := of.object("live", "1", "")
	if err != nil {
		return s, err
	}
	rules := 1
	if d.rules != nil {
		rules = d.rules(n)
	}
	handoff, err := handlers.Handoff(ctx, handlers.Options{Mode: "enforce", Namespace: namespace, Rules: rulesOf(rules)})
	if err != nil {
		return s, err
	}
	reference, err := handlers.ControllerRuntime()
	if err != nil {
		return s, err
	}
	exchange, err := handlers.NewExchange(body)
	if err != nil {
		return s, err
	}
	answer, err := exchange.Answer(handoff)
	if err != nil {
		return s, err
	}
	if answer.Patch == nil {
		return s, fmt.Errorf("handoff returns no patch: %q", answer.Warnings)
	}
	s = step{n: n, body: len(body), object: len(live)}
	s.handoff, s.reference, err = interleaved(exchange, handoff, reference)
	return s, err
}

// rulesOf returns n rules, the last of which makes the keys owned by the controller.
func rulesOf(n int) []config.ControllerRule {
	rules := make([]config.ControllerRule, n)
	for i := range rules {
		rules[i] = config.ControllerRule{Group: "core", Kind: "ConfigMap", Fields: []string{fmt.Sprintf(`.data["unused-%05d"]`, i)}}
	}
	rules[n-1].Fields = []string{".data.*"}
	return rules
}

// rounds is how often each side is measured, and roundTime how long at least.
const (
	rounds    = 15
	roundTime = 20 * time.Millisecond
)

// interleaved returns the median CPU time of a review of both handlers, which are measured in turn. It includes the collection of
// garbage, but not what other processes do.
func interleaved(exchange *handlers.Exchange, a, b http.Handler) (ofA, ofB time.Duration, err error) {
	var all [2][]time.Duration
	for range rounds {
		for side, handler := range []http.Handler{a, b} {
			took, err := timeOf(exchange.Send(handler))
			if err != nil {
				return 0, 0, err
			}
			all[side] = append(all[side], took)
		}
	}
	return table.Percentile(all[0], 50), table.Percentile(all[1], 50), nil
}

// timeOf returns the mean CPU time of an action that is repeated for a while.
func timeOf(action func()) (time.Duration, error) {
	before, err := procs.CPU(os.Getpid())
	if err != nil {
		return 0, err
	}
	for n := 1; ; n++ {
		action()
		after, err := procs.CPU(os.Getpid())
		if err != nil {
			return 0, err
		}
		if took := after - before; took >= roundTime {
			return took / time.Duration(n), nil
		}
	}
}

func (d dimension) report(steps []step, result *table.Result) {
	handoff, reference := table.Series{Name: "handoff"}, table.Series{Name: "no-op webhook of controller-runtime"}
	for _, s := range steps {
		x := float64(s.n)
		if d.bytes {
			x = float64(s.object)
		}
		handoff.Points = append(handoff.Points, table.Point{x, milliseconds(s.handoff)})
		reference.Points = append(reference.Points, table.Point{x, milliseconds(s.reference)})
	}
	label := "number of " + d.title
	if d.bytes {
		label = "bytes of the object; a review contains it twice"
	}
	last := steps[len(steps)-1]
	what := fmt.Sprintf("size, %d %s", last.n, d.title)
	if d.bytes {
		what = fmt.Sprintf("size, object of %.1f MB", float64(last.object)/1e6)
	}
	result.Rows = append(result.Rows, table.Row{
		What:      fmt.Sprintf("%s, review of %.1f KB", what, float64(last.body)/1000),
		Handoff:   fmt.Sprintf("%.2f ms", milliseconds(last.handoff)),
		Reference: fmt.Sprintf("%.2f ms, no-op controller-runtime webhook", milliseconds(last.reference)),
		Ratio:     table.Ratio{Value: float64(last.handoff) / float64(last.reference)},
	}, table.SlopeRow("CPU time in ms, by "+label, handoff.Points))
	result.Plots = append(result.Plots, table.Plot{
		Name: "size-" + d.name, Title: "CPU time of a review that keeps fields, by " + label,
		X: table.Axis{Label: label, Log: true}, Y: table.Axis{Label: "milliseconds of CPU time", Log: true},
		Series: []table.Series{handoff, reference},
	})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
