package latency

import (
	"fmt"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

const (
	median = 50
	// idle is the upper limit for the time that a review with nothing to do adds, relative to the time that a constant patch adds.
	idle = 1.1
	// unnoticed is the upper limit for the time of a write in a namespace that has not opted in, relative to one without
	// admission: two namespaces without admission differ by as much.
	unnoticed = 1.05
)

// report compares the namespaces of a size.
func report(all []*measured, of size) (rows []table.Row) {
	plain, patched := all[none], all[constant]
	for i, m := range all {
		row := table.Row{What: "write of " + of.name + ": " + m.title}
		if m.Handoff {
			row.Handoff, row.Reference = m.describe(plain), text(patched.added(plain))+" added by a constant patch"
			row.Ratio = float64(m.added(plain)) / float64(patched.added(plain))
		} else {
			row.Reference = m.describe(plain)
		}
		switch i {
		case keep:
			row.Target = of.keep
		case nothingToDo:
			row.Target = idle
		case notOptedIn:
			row.Reference = text(table.Percentile(plain.times, median)) + " without admission"
			row.Ratio = float64(table.Percentile(m.times, median)) / float64(table.Percentile(plain.times, median))
			row.Target = unnoticed
		}
		if of.keep == 0 {
			row.Target = 0
		}
		rows = append(rows, row)
	}
	return rows
}

// added returns by how much the median is longer than without admission.
func (m *measured) added(plain *measured) time.Duration {
	return table.Percentile(m.times, median) - table.Percentile(plain.times, median)
}

// describe returns the times of a write, and what admission adds.
func (m *measured) describe(plain *measured) string {
	writes := time.Duration(len(m.times))
	described := fmt.Sprintf("p50 %s, p99 %s", text(table.Percentile(m.times, median)), text(table.Percentile(m.times, 99)))
	if m != plain {
		described += ", added " + text(m.added(plain))
	}
	described += ", CPU of the API server " + text(m.apiServer/writes)
	if m.webhook > 0 {
		described += ", of the webhook " + text(m.webhook/writes)
	}
	return described
}

// text returns a duration in milliseconds, for the table.
func text(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
