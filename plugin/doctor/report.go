package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/ownership-handoff/handoff/internal/table"
)

// Result is the result of a check.
type Result string

// The results. A check without a problem that could not read everything is Unknown.
const (
	OK      Result = "ok"
	Problem Result = "problem"
	Unknown Result = "unknown"
	// Skipped checks do not apply to this installation, or could not read everything although the dry run in the namespace was answered.
	Skipped Result = "skipped"
)

// Report is the result of all checks, in the order in which they are shown.
type Report struct {
	Checks []*Check `json:"checks"`
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

// waive skips a check that could not read everything.
func (c *Check) waive() {
	if c.Result == Unknown {
		c.skip(strings.TrimPrefix(c.Gaps[0], c.Name+": "))
		c.Gaps = nil
	}
}

// Problems returns the number of findings.
func (r *Report) Problems() (n int) {
	for _, c := range r.Checks {
		n += len(c.Findings)
	}
	return n
}

// Gaps returns what could not be checked.
func (r *Report) Gaps() (gaps []string) {
	for _, c := range r.Checks {
		gaps = append(gaps, c.Gaps...)
	}
	return gaps
}

// Table writes the report for people: a line for each check, then the problems with their remedies.
func (r *Report) Table(w io.Writer) error {
	rows := make([][]string, len(r.Checks))
	var problems []string
	for i, c := range r.Checks {
		rows[i] = []string{c.Name, string(c.Result), c.Detail}
		for _, f := range c.Findings {
			problems = append(problems, "", c.Name+": "+f.Object+": "+f.Problem)
			for _, remedy := range f.Remedies {
				problems = append(problems, "  "+remedy)
			}
		}
	}
	summary := fmt.Sprintf("Problems: %d", r.Problems())
	if len(r.Gaps()) > 0 {
		summary += "; not everything could be checked"
	}
	return table.Write(w, []string{"CHECK", "RESULT", "DETAIL"}, rows, append(problems, "", summary)...)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// short limits the length of a value in a problem.
func short(text string) string { return table.Shorten(text, 240) }
