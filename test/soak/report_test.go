package soak_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

// report is the result of a soak.
type report struct {
	totals

	machine  string
	books    *books
	started  time.Time
	recovery map[string][]time.Duration // after each time that faults were played, by their name
	samples  map[string][]sample        // of each process
	failOpen map[string]float64
}

// sample is what a pod reports about itself.
type sample struct {
	at                    time.Time
	megabytes, goroutines float64
}

// note records a violation that is not about a write.
func (b *books) note(format string, args ...any) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.violate(format, args...)
}

// sample reads the metrics of the pods until the context ends.
func (r *report) sample(ctx context.Context, m *machine) {
	failures := map[string]float64{}
	for ; ctx.Err() == nil; wait(ctx, 2*time.Second) {
		for i, p := range m.pods {
			limited, cancel := context.WithTimeout(ctx, time.Second)
			hook := p.running()
			text, err := hook.Metrics(limited)
			cancel()
			if err != nil {
				continue // it does not run
			}
			name := fmt.Sprintf("pod %d, process %d", i, hook.PID())
			read := metricsOf(text)
			r.samples[name] = append(r.samples[name], sample{
				at: time.Now(), megabytes: read["process_resident_memory_bytes"] / (1 << 20), goroutines: read["go_goroutines"],
			})
			for metric, value := range read {
				if reason, ok := strings.CutPrefix(metric, "handoff_failed_open_total"); ok {
					r.failOpen[reason] += value - failures[name+reason]
					failures[name+reason] = value
				}
			}
		}
	}
}

// metricsOf parses metrics in the Prometheus text format.
func metricsOf(text string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = number
		}
	}
	return all
}

// close completes the report with what the books say.
func (r *report) close() {
	r.books.mutex.Lock()
	defer r.books.mutex.Unlock()
	r.totals = r.books.totals
	if r.Unanswered > r.Applies/50 {
		r.Violations = append(r.Violations, fmt.Sprintf("%d of %d applies were not answered, without a fault", r.Unanswered, r.Applies))
	}
}

// leastSlope is how long a process must have run for a slope that means something.
const leastSlope = 4 * time.Minute

// slope returns the growth per hour in the second half of the samples, by least squares: the first minutes fill caches.
func slope(samples []sample, value func(sample) float64) float64 {
	if samples[len(samples)-1].at.Sub(samples[0].at) < leastSlope {
		return 0
	}
	samples = samples[len(samples)/2:]
	var x, y, xx, xy float64
	for _, s := range samples {
		hours := s.at.Sub(samples[0].at).Hours()
		x, y, xx, xy = x+hours, y+value(s), xx+hours*hours, xy+hours*value(s)
	}
	n := float64(len(samples))
	if n*xx-x*x == 0 {
		return 0
	}
	return (n*xy - x*y) / (n*xx - x*x)
}

// print prints the report as Markdown.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\n%s, %s\n\n", r.machine, time.Since(r.started).Round(time.Second))
	fmt.Fprintf(w, "%d writes, %d of them applies, %d kept, %d lost (%d behind the guard), %d refused in handoff's name, %d undecided (%d without a fault)\n",
		r.Writes, r.Applies, r.Kept, r.Lost, r.LostBehindGuard, r.Refused, r.Undecided, r.Unanswered)
	fmt.Fprintf(w, "%d writes without a line in the audit log; %d requests that no API server answered\n", r.Unseen, r.Unavailable)
	for _, phase := range slices.Sorted(maps.Keys(r.took)) {
		times := r.took[phase]
		fmt.Fprintf(w, "an apply in the API server, %s: p50 %d ms, p99 %d ms\n", phase,
			table.Percentile(times, 50).Milliseconds(), table.Percentile(times, 99).Milliseconds())
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		fmt.Fprintf(w, "%6d %s\n", r.Reasons[reason], reason)
	}
	for reason, count := range r.failOpen {
		if count > 0 {
			fmt.Fprintf(w, "%6.0f failed open in the webhook %s\n", count, reason)
		}
	}
	fmt.Fprintf(w, "\n| fault | played | applies | kept | undecided | lost | refused or unanswered | recovery |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(r.byFault)) {
		t, recovery := r.byFault[name], slices.Max(append(r.recovery[name], 0))
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d | %.1f s |\n",
			name, len(r.recovery[name]), t.Applies, t.Kept, t.Undecided, t.Lost, t.Unavailable, recovery.Seconds())
	}
	fmt.Fprintf(w, "\n| process | seconds | MiB | MiB an hour | goroutines | goroutines an hour |\n|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(r.samples)) {
		all := r.samples[name]
		last := all[len(all)-1]
		fmt.Fprintf(w, "| %s | %.0f | %.1f | %+.1f | %.0f | %+.1f |\n", name, last.at.Sub(all[0].at).Seconds(),
			last.megabytes, slope(all, func(s sample) float64 { return s.megabytes }),
			last.goroutines, slope(all, func(s sample) float64 { return s.goroutines }))
	}
	fmt.Fprintf(w, "\n%d violations\n", len(r.Violations))
}
