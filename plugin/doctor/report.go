package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/internal/printable"
	"github.com/ownership-handoff/handoff/internal/table"
)

// Result is the result of a check.
type Result string

// The results. A check without a problem that could not read everything is Unknown.
const (
	OK      Result = "ok"
	Problem Result = "problem"
	Unknown Result = "unknown"
	// Skipped checks do not apply to this installation, or the user lacks a permission and the dry run in the namespace was answered.
	Skipped Result = "skipped"
)

// colors are the SGR codes of the results.
var colors = map[Result]int{OK: 32, Problem: 31, Unknown: 33}

// Report is the result of all checks, in the order in which they are shown.
type Report struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Checks     []*Check `json:"checks"`
}

// Check is one part of the installation.
type Check struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	// Detail is what the check has seen.
	Detail   string    `json:"detail,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Gaps describe what could not be checked.
	Gaps []string `json:"gaps,omitempty"`

	denied int // number of gaps that a permission would fill
}

// Finding is a problem, and what to do about it: commands, and sentences where there is no command.
type Finding struct {
	// Object is the object with the problem, such as "service/handoff-webhook -n handoff-system".
	Object   string   `json:"object"`
	Problem  string   `json:"problem"`
	Remedies []string `json:"remedies"`
}

func (c *Check) found(object, problem string, remedies ...string) {
	c.Findings = append(c.Findings, Finding{Object: object, Problem: oneLine(problem), Remedies: remedies})
}

// gap adds a sentence about what could not be checked.
func (c *Check) gap(format string, args ...any) {
	c.Gaps = append(c.Gaps, c.Name+": "+oneLine(fmt.Sprintf(format, args...)))
}

// requires adds a gap that a permission would fill.
func (c *Check) requires(permission string) {
	c.denied++
	c.gap("requires permission to %s", permission)
}

// waive skips a check that the user lacks the permissions for.
func (c *Check) waive() {
	if c.Result == Unknown && c.denied == len(c.Gaps) {
		c.skip(strings.TrimPrefix(c.Gaps[0], c.Name+": "))
		c.Gaps = nil
	}
}

func (c *Check) skip(detail string) { c.Result, c.Detail = Skipped, detail }

// settle sets the result from what was found.
func (c *Check) settle() {
	switch {
	case len(c.Findings) > 0:
		c.Result = Problem
		if c.Detail == "" {
			c.Detail = "see below"
		}
	case len(c.Gaps) > 0:
		c.Result = Unknown
	case c.Result == "":
		c.Result = OK
	}
}

// Problems returns the number of findings.
func (r *Report) Problems() (n int) {
	for _, c := range r.Checks {
		n += len(c.Findings)
	}
	return n
}

// Gaps returns what could not be checked, without duplicates.
func (r *Report) Gaps() (gaps []string) {
	for _, c := range r.Checks {
		gaps = append(gaps, c.Gaps...)
	}
	return slices.Compact(gaps)
}

// Table writes the report for people: a line for each check, then the problems with their remedies.
func (r *Report) Table(w io.Writer, style table.Style) error {
	rows := make([]table.Row, len(r.Checks))
	for i, c := range r.Checks {
		rows[i] = table.Row{Cells: []string{c.Name, string(c.Result), c.Detail}, Color: colors[c.Result], At: 1}
	}
	if err := style.Write(w, []string{"CHECK", "RESULT", "DETAIL"}, rows); err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			fmt.Fprintf(&b, "\n%s: %s: %s\n", c.Name, printable.Text(f.Object), printable.Text(f.Problem))
			for _, remedy := range f.Remedies {
				fmt.Fprintf(&b, "  %s\n", printable.Text(remedy))
			}
		}
	}
	summary := "No problems found."
	switch n := r.Problems(); {
	case n == 1:
		summary = "1 problem."
	case n > 1:
		summary = fmt.Sprintf("%d problems.", n)
	case len(r.Gaps()) > 0:
		summary = "No problems found, but not everything could be checked."
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", &b, summary)
	return err
}
