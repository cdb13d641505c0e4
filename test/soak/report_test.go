package soak_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

// report is the result of a soak.
type report struct {
	Machine  string
	Duration string
	totals

	Faults   []faultReport
	Calm     faultTotals
	Pods     []podReport
	Times    map[string]string // p50 and p99 of an apply in an API server
	FailOpen map[string]float64
	Timeline []period

	books    *books
	started  time.Time
	recovery map[string][]time.Duration
	samples  map[string][]sample
}

// faultReport is a row of the table of faults.
type faultReport struct {
	Name     string
	Played   int
	Recovery string // the longest
	faultTotals
}

// podReport says how much a process of the webhook has used.
type podReport struct {
	Name                              string
	Seconds, Megabytes, Goroutines    float64
	MegabytesAnHour, GoroutinesAnHour float64
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

// count counts what can happen.
func (b *books) count(reason string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.Reasons[reason]++
}

// hindered records the error of a fault. In a pair, the other one can be its reason.
func (b *books) hindered(together faults, err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(together) == 1 {
		b.violate("%s: %v", together.name(), err)
		return
	}
	b.Hindered++
	b.Reasons["hindered: "+together.name()]++
	fmt.Fprintf(os.Stderr, "soak: hindered: %s: %v\n", together.name(), err)
}

func (r *report) recovered(f faults, after time.Duration) {
	if r.recovery == nil {
		r.recovery = map[string][]time.Duration{}
	}
	r.recovery[f.name()] = append(r.recovery[f.name()], after)
}

// sample reads the metrics of the pods until the context ends.
func (r *report) sample(ctx context.Context, m *machine) {
	r.samples, r.FailOpen = map[string][]sample{}, map[string]float64{}
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
			read := metricsOf(text)
			name := fmt.Sprintf("pod %d since %s", i, time.Unix(int64(read["process_start_time_seconds"]), 0).Format(time.TimeOnly))
			r.samples[name] = append(r.samples[name], sample{
				at: time.Now(), megabytes: read["process_resident_memory_bytes"] / (1 << 20), goroutines: read["go_goroutines"],
			})
			for metric, value := range read {
				if reason, ok := strings.CutPrefix(metric, "handoff_failed_open_total"); ok {
					r.FailOpen[reason] += value - failures[name+reason]
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
	r.totals, r.Duration = r.books.totals, time.Since(r.started).Round(time.Second).String()
	for _, name := range slices.Sorted(maps.Keys(r.recovery)) {
		f := faultReport{Name: name, Played: len(r.recovery[name]), Recovery: fmt.Sprintf("%.1f s", slices.Max(r.recovery[name]).Seconds())}
		if t := r.byFault[name]; t != nil {
			f.faultTotals = *t
		}
		r.Faults = append(r.Faults, f)
	}
	if t := r.byFault["calm"]; t != nil {
		r.Calm = *t
	}
	for name, t := range r.byFault {
		if most := 3 + t.Applies/20; t.Unanswered > most || t.Unexplained > most {
			r.violate("%d of %d applies were not answered, and %d writes not stored, during %s, which does not explain it", t.Unanswered, t.Applies, t.Unexplained, name)
		}
	}
	if r.Unanswered > r.Applies/50 {
		r.violate("%d of %d applies were not answered, without a fault", r.Unanswered, r.Applies)
	}
	if most := 1 + len(r.recovery)/10; r.Hindered > most {
		r.violate("%d faults were hindered by another, more than %d", r.Hindered, most)
	}
	r.Times = map[string]string{}
	for phase, answers := range r.answers {
		var times []time.Duration
		for _, a := range answers {
			times = append(times, a.took)
		}
		r.Times[phase] = fmt.Sprintf("p50 %d ms, p99 %d ms", table.Percentile(times, 50).Milliseconds(), table.Percentile(times, 99).Milliseconds())
	}
	r.Timeline = r.timeline(time.Since(r.started))
	for name, samples := range r.samples {
		r.Pods = append(r.Pods, podReportOf(name, samples))
	}
	slices.SortFunc(r.Pods, func(a, b podReport) int { return cmp.Compare(b.Seconds, a.Seconds) })
	r.checkLoad()
}

// The least traffic of a fault that leaves the API servers, the most that a pod may use, twice what was ever seen, and what it may gain.
const (
	leastApplies                              = 5
	mostMegabytes, mostGoroutines             = 100, 300
	mostMegabytesAnHour, mostGoroutinesAnHour = 50, 300
)

// checkLoad checks that clients have written all the time, and what the pods have used.
func (r *report) checkLoad() {
	for _, f := range catalog() {
		if t := r.byFault[f.name]; r.recovery[f.name] != nil && f.may&noAPI == 0 && (t == nil || t.Applies < leastApplies) {
			r.violate("less than %d applies during %s", leastApplies, f.name)
		}
	}
	for _, p := range r.Timeline {
		if r.Timeline[0].Minute >= 1 && p.Applies == 0 {
			r.violate("no apply before minute %.0f", p.Minute)
		}
		if p.Megabytes > mostMegabytes || p.Goroutines > mostGoroutines {
			r.violate("a pod used %.0f MiB and %.0f goroutines before minute %.0f", p.Megabytes, p.Goroutines, p.Minute)
		}
	}
	for _, p := range r.Pods {
		if p.Seconds > steady.Seconds()*0.9 && (p.MegabytesAnHour > mostMegabytesAnHour || p.GoroutinesAnHour > mostGoroutinesAnHour) {
			r.violate("%s: %+.0f MiB and %+.0f goroutines an hour", p.Name, p.MegabytesAnHour, p.GoroutinesAnHour)
		}
	}
}

func podReportOf(name string, samples []sample) podReport {
	last := samples[len(samples)-1]
	p := podReport{Name: name, Seconds: last.at.Sub(samples[0].at).Seconds(), Megabytes: last.megabytes, Goroutines: last.goroutines}
	if p.Seconds >= leastSlope.Seconds() {
		second := samples[len(samples)/2:] // the first minutes fill caches
		p.MegabytesAnHour = slope(second, func(s sample) float64 { return s.megabytes })
		p.GoroutinesAnHour = slope(second, func(s sample) float64 { return s.goroutines })
	}
	return p
}

// steady is how long a run of two hours or more ends without a fault, so that no pod is replaced.
const steady = 15 * time.Minute

// leastSlope is how long a process must have run for a slope that means something.
const leastSlope = 4 * time.Minute

// slope returns the growth per hour, by least squares.
func slope(samples []sample, value func(sample) float64) float64 {
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
	fmt.Fprintf(w, "\n%s, %s\n\n", r.Machine, r.Duration)
	fmt.Fprintf(w, "%d writes, %d of them applies, %d kept, %d lost (%d behind the guard), %d refused in handoff's name, %d undecided (%d without a fault)\n",
		r.Writes, r.Applies, r.Kept, r.Lost, r.LostBehindGuard, r.Refused, r.Undecided, r.Unanswered)
	fmt.Fprintf(w, "%d applies compared in all fields, %d objects at the end, %d undecided applies that the guard had to keep\n", r.Compared, r.AtTheEnd, r.BehindGuard)
	fmt.Fprintf(w, "%d writes without a line in the audit log; %d requests that no API server answered; %d faults hindered by another\n",
		r.Unseen, r.Unavailable, r.Hindered)
	for _, phase := range slices.Sorted(maps.Keys(r.Times)) {
		fmt.Fprintf(w, "an apply in the API server, %s: %s\n", phase, r.Times[phase])
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Reasons)) {
		fmt.Fprintf(w, "%6d %s\n", r.Reasons[reason], reason)
	}
	for reason, count := range r.FailOpen {
		if count > 0 {
			fmt.Fprintf(w, "%6.0f failed open in the webhook %s\n", count, reason)
		}
	}
	fmt.Fprintf(w, "\n| fault | played | applies | kept | undecided | lost | refused or unanswered | recovery |\n|---|---|---|---|---|---|---|---|\n")
	row := func(name, played string, t faultTotals, recovery string) {
		fmt.Fprintf(w, "| %s | %s | %d | %d | %d | %d | %d | %s |\n", name, played, t.Applies, t.Kept, t.Undecided, t.Lost, t.Unavailable, recovery)
	}
	row("calm", "", r.Calm, "")
	for _, f := range r.Faults {
		row(f.Name, strconv.Itoa(f.Played), f.faultTotals, f.Recovery)
	}
	fmt.Fprintf(w, "\n| process | seconds | MiB | MiB an hour | goroutines | goroutines an hour |\n|---|---|---|---|---|---|\n")
	for _, p := range r.Pods[:min(6, len(r.Pods))] {
		fmt.Fprintf(w, "| %s | %.0f | %.1f | %+.1f | %.0f | %+.1f |\n", p.Name, p.Seconds, p.Megabytes, p.MegabytesAnHour, p.Goroutines, p.GoroutinesAnHour)
	}
	drawTimeline(w, r.Timeline)
	fmt.Fprintf(w, "\n%d violations\n", len(r.Violations))
}
