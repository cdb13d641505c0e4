// Package table prints what was measured.
package table

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Row is one measurement: what it is of, the two sides, and how they compare.
type Row struct {
	What, Handoff, Reference string
	// Ratio is the first side in terms of the second.
	Ratio Ratio
	// Target is what the ratio should be at most; zero is no target.
	Target Ratio
	// Below says that the ratio should be less than the target, and not at most as much.
	Below bool
}

// Ratio prints as it is, or as a percentage.
type Ratio struct {
	Value   float64
	Percent bool
}

// Met says whether the target is met, and whether there is one.
func (r Row) Met() (met, targeted bool) {
	if r.Target.Value == 0 {
		return false, false
	}
	if r.Below {
		return r.Ratio.Value < r.Target.Value, true
	}
	return r.Ratio.Value <= r.Target.Value, true
}

// String returns the ratio with as many digits as matter.
func (r Ratio) String() string {
	if r.Percent {
		return fmt.Sprintf("%.1f %%", 100*r.Value)
	}
	return fmt.Sprintf("%.2f", r.Value)
}

// Print prints the rows under a heading.
func Print(w io.Writer, rows []Row) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "MEASURED\tHANDOFF\tREFERENCE\tRATIO\tTARGET")
	for _, row := range rows {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\n", row.What, row.Handoff, row.Reference, row.Ratio, row.verdict())
	}
	if err := columns.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
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
