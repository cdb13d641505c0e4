package soak_test

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

// points is how many times a run is divided for its charts.
const points = 40

// period is what a part of a run has measured.
type period struct {
	Minute                float64 // of the run, at its end
	Applies               int
	P50, P99              int64   // of the applies in the API servers, in milliseconds
	Megabytes, Goroutines float64 // of the pod that has most
}

// answer is the time that an API server needed for an apply.
type answer struct {
	at   time.Time
	took time.Duration
}

// timeline divides a run into periods of the same length.
func (r *report) timeline(took time.Duration) []period {
	periods, times := make([]period, points), make([][]time.Duration, points)
	of := func(at time.Time) int { return min(points-1, max(0, int(at.Sub(r.started)*points/took))) }
	for _, answers := range r.answers {
		for _, a := range answers {
			times[of(a.at)] = append(times[of(a.at)], a.took)
		}
	}
	for i, all := range times {
		periods[i] = period{
			Minute: (took * time.Duration(i+1) / points).Minutes(), Applies: len(all),
			P50: table.Percentile(all, 50).Milliseconds(), P99: table.Percentile(all, 99).Milliseconds(),
		}
	}
	for _, samples := range r.samples {
		for _, s := range samples {
			p := &periods[of(s.at)]
			p.Megabytes, p.Goroutines = max(p.Megabytes, s.megabytes), max(p.Goroutines, s.goroutines)
		}
	}
	return periods
}

// drawTimeline prints the periods as charts of Mermaid, which Markdown shows.
func drawTimeline(w io.Writer, periods []period) {
	draw := func(title, unit string, values ...func(period) float64) {
		var lines strings.Builder
		most := 0.0
		for _, value := range values {
			var line []string
			for _, p := range periods {
				most = max(most, value(p))
				line = append(line, fmt.Sprintf("%.0f", value(p)))
			}
			fmt.Fprintf(&lines, "  line [%s]\n", strings.Join(line, ", "))
		}
		fmt.Fprintf(w, "\n```mermaid\nxychart-beta\n  title %q\n  x-axis \"minutes\" 0 --> %.0f\n  y-axis %q 0 --> %.0f\n%s```\n",
			title, periods[len(periods)-1].Minute, unit, 1.1*most, &lines)
	}
	draw("An apply in the API server, p99 and p50", "ms", func(p period) float64 { return float64(p.P99) }, func(p period) float64 { return float64(p.P50) })
	draw("Applies of a period", "applies", func(p period) float64 { return float64(p.Applies) })
	draw("Goroutines and memory of the largest pod", "goroutines, MiB", func(p period) float64 { return p.Goroutines }, func(p period) float64 { return p.Megabytes })
}
