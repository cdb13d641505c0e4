// Package table prints measurements as a table.
package table

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Row is a measurement of handoff next to a reference.
type Row struct {
	What, Handoff, Reference string
	// Ratio is handoff's value divided by the reference.
	Ratio Ratio
	// Target is the upper limit of the ratio; zero means no target.
	Target Ratio
	// Below reports whether the ratio must be less than the target rather than at most the target.
	Below bool
}

// Ratio is a ratio that is printed as a number or as a percentage.
type Ratio struct {
	Value   float64
	Percent bool
}

// Met reports whether the target is met, and whether there is a target.
func (r Row) Met() (met, targeted bool) {
	if r.Target.Value == 0 {
		return false, false
	}
	if r.Below {
		return r.Ratio.Value < r.Target.Value, true
	}
	return r.Ratio.Value <= r.Target.Value, true
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
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", row.What, row.Handoff, row.Reference, row.Ratio, row.verdict())
	}
	if err := columns.Flush(); err != nil {
		return fmt.Errorf("printing the table: %w", err)
	}
	return nil
}

func (r Row) verdict() string {
	sign := "<="
	if r.Below {
		sign = "<"
	}
	switch met, targeted := r.Met(); {
	case !targeted:
		return ""
	case met:
		return sign + " " + r.Target.String() + " met"
	default:
		return sign + " " + r.Target.String() + " MISSED"
	}
}
