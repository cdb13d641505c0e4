// Package table prints measurements as a table, and writes them with their plots as JSON.
package table

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Row is a measurement of handoff next to a reference.
type Row struct {
	What      string `json:"what"`
	Handoff   string `json:"handoff"`
	Reference string `json:"reference"`
	// Ratio is handoff's value divided by the reference.
	Ratio Ratio `json:"ratio,omitzero"`
	// Target is the limit of the ratio; zero means no target.
	Target Ratio `json:"target,omitzero"`
	// Limit is how the ratio is compared with the target.
	Limit Limit `json:"limit"`
}

// NotMeasured returns a row for a reference that could not be measured, with the reason.
func NotMeasured(what string, reason error) Row {
	return Row{What: what, Reference: "not measured: " + reason.Error()}
}

// Ratio is a ratio that is printed as a number or as a percentage. NaN, which JSON lacks, is not valid.
type Ratio struct {
	Value   float64 `json:"value"`
	Percent bool    `json:"percent,omitempty"`
}

// Limit is how a ratio is compared with a target.
type Limit string

// The limits. AtMost is the default.
const (
	AtMost  Limit = ""
	Below   Limit = "below"
	AtLeast Limit = "at least"
)

// Met reports whether the target is met, and whether there is a target.
func (r Row) Met() (met, targeted bool) {
	switch {
	case r.Target.Value == 0:
		return false, false
	case r.Limit == Below:
		return r.Ratio.Value < r.Target.Value, true
	case r.Limit == AtLeast:
		return r.Ratio.Value >= r.Target.Value, true
	default:
		return r.Ratio.Value <= r.Target.Value, true
	}
}

// String returns the ratio with two decimals, or as a percentage with one.
func (r Ratio) String() string {
	if r.Percent {
		return fmt.Sprintf("%.1f %%", 100*r.Value)
	}
	return fmt.Sprintf("%.2f", r.Value)
}

// Print writes the rows with a heading.
func Print(w io.Writer, rows []Row) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "MEASURED\tHANDOFF\tREFERENCE\tRATIO\tTARGET")
	for _, row := range rows {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", row.What, row.Handoff, row.Reference, row.ratio(), row.verdict())
	}
	if err := columns.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

// ratio returns the ratio as text; "" without one.
func (r Row) ratio() string {
	if r.Ratio.Value == 0 {
		return ""
	}
	return r.Ratio.String()
}

// verdict returns the target and whether it is met; "" without a target.
func (r Row) verdict() string {
	sign := map[Limit]string{AtMost: "<=", Below: "<", AtLeast: ">="}[r.Limit]
	switch met, targeted := r.Met(); {
	case !targeted:
		return ""
	case met:
		return sign + " " + r.Target.String() + " met"
	default:
		return sign + " " + r.Target.String() + " MISSED"
	}
}
