package latency

import (
	"fmt"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

// report compares the namespaces. withoutKyverno is the reason why Kyverno is not among them, or nil.
func report(all []*measured, withoutKyverno error, size int) table.Result {
	by := map[string]*measured{}
	for _, m := range all {
		by[m.Name] = m
	}
	plain, constant := by[none], by[patcher]
	result := table.Result{Plots: []table.Plot{distributions(all)}}
	for _, m := range all {
		row := table.Row{What: fmt.Sprintf("write of %.1f KB, %s", float64(size)/1000, m.Title)}
		if m.Handoff {
			row.Handoff = m.describe(plain)
			row.Reference = "added p50 " + text(constant.added(plain, median)) + ", constant JSON patch"
			row.Ratio = ratio(m, constant, plain, median)
		} else {
			row.Reference = m.describe(plain)
		}
		result.Rows = append(result.Rows, row)
	}
	if withoutKyverno != nil {
		result.Rows = append(result.Rows, table.NotMeasured("write, Kyverno", withoutKyverno))
	}
	for _, p := range []float64{median, 99} {
		result.Rows = append(result.Rows, table.Row{
			What:      fmt.Sprintf("time that a keep adds to a write, p%.0f", p),
			Handoff:   text(by[keeping].added(plain, p)),
			Reference: text(constant.added(plain, p)) + ", added by a constant JSON patch",
			Ratio:     ratio(by[keeping], constant, plain, p),
			Target:    table.Ratio{Value: target},
		})
	}
	for _, m := range all {
		reference := "a constant JSON patch with the same match conditions"
		if m.Kyverno != "" {
			reference = m.Title
		} else if m.Name != conditional {
			continue
		}
		result.Rows = append(result.Rows, table.Row{
			What:      "time that a keep adds to a write, p50",
			Handoff:   text(by[keeping].added(plain, median)),
			Reference: text(m.added(plain, median)) + ", added by " + reference,
			Ratio:     ratio(by[keeping], m, plain, median),
		})
	}
	return result
}

const median = 50

// ratio compares what two admissions add.
func ratio(m, other, plain *measured, p float64) table.Ratio {
	return table.Ratio{Value: float64(m.added(plain, p)) / float64(other.added(plain, p))}
}

// added returns by how much a percentile is longer than without admission.
func (m *measured) added(plain *measured, p float64) time.Duration {
	return table.Percentile(m.times, p) - table.Percentile(plain.times, p)
}

// describe returns the times of a write and, relative to plain unless it is nil, what admission adds.
func (m *measured) describe(plain *measured) string {
	described := fmt.Sprintf("p50 %s, p99 %s", text(table.Percentile(m.times, median)), text(table.Percentile(m.times, 99)))
	if plain != nil && plain != m {
		described += ", added p50 " + text(m.added(plain, median))
	}
	described += ", CPU of the API server " + text(m.apiServer/rounds)
	if m.webhook > 0 {
		described += ", of the webhook " + text(m.webhook/rounds)
	}
	return described
}

// text returns a duration in milliseconds, for the table.
func text(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

func distributions(all []*measured) table.Plot {
	plot := table.Plot{
		Name: "latency", Title: "Time of a write, by its admission",
		X: table.Axis{Label: "milliseconds", Log: true}, Y: table.Axis{Label: "% of the writes that take at most as long"},
	}
	for _, m := range all {
		plot.Series = append(plot.Series, table.Distribution(m.Title, m.times))
	}
	return plot
}
