// Package table prints measurements as a table of Markdown, each next to a reference.
package table

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// Row is a measurement of handoff next to a reference.
type Row struct {
	What, Handoff, Reference string
	// Ratio is handoff's value divided by the reference, 0 without one.
	Ratio float64
	// Target is the limit of the ratio, 0 without one.
	Target float64
	// AtLeast reports that the target is a lower limit instead of an upper one.
	AtLeast bool
}

// Missed reports whether the row has a target that is missed.
func (r Row) Missed() bool {
	if r.AtLeast {
		return r.Ratio < r.Target
	}
	return r.Target > 0 && r.Ratio > r.Target
}

// Print writes the rows with a heading.
func Print(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("\n| measured | handoff | reference | ratio | target |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		ratio := ""
		if r.Ratio != 0 {
			ratio = fmt.Sprintf("%.2f", r.Ratio)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.What, r.Handoff, r.Reference, ratio, r.verdict())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict returns the target and whether it is met; "" without a target.
func (r Row) verdict() string {
	sign, verdict := "<=", "met"
	if r.AtLeast {
		sign = ">="
	}
	if r.Missed() {
		verdict = "**missed**"
	}
	if r.Target == 0 {
		return ""
	}
	return fmt.Sprintf("%s %.2f %s", sign, r.Target, verdict)
}

// Percentile returns a percentile of durations, 0 of none. p is from 0 to 100.
func Percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[int(math.Ceil(float64(len(all)-1)*p/100))]
}
