package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// table returns a table of all tests and versions.
func table(all []results) string {
	var b strings.Builder
	header(&b, "test", all)
	for _, name := range names(all) {
		row(&b, "`"+name+"`", all, func(r results) string { return cell(r.Tests[name]) })
	}
	return b.String()
}

// summary returns a table of the packages with the numbers of tests that passed, and a table of the tests that have not passed
// with all of their cases on all versions, with the reasons.
func summary(all []results) string {
	var b strings.Builder
	header(&b, "tests", all)
	for _, pkg := range packages() {
		pkg = strings.TrimPrefix(pkg, "./")
		row(&b, "`"+pkg+"`", all, func(r results) string { return count(r, pkg) })
	}
	var incomplete []string
	for _, name := range names(all) {
		if slices.ContainsFunc(all, func(r results) bool { return cell(r.Tests[name]) != cell(outcome{Action: passed}) }) {
			incomplete = append(incomplete, name)
		}
	}
	if len(incomplete) == 0 {
		return b.String() + "\nEach test passed on all versions.\n"
	}
	b.WriteString("\n")
	header(&b, "tests that did not pass, or not with all cases", all, "reason")
	for _, group := range grouped(incomplete, all) {
		name, reasons := "`"+group[0]+"`", []string{}
		if pkg, _, _ := strings.Cut(group[0], " "); len(group) > 1 {
			name = "`" + pkg + "`, all tests"
		}
		for _, r := range all {
			reasons = append(reasons, r.Tests[group[0]].Reasons...)
		}
		slices.Sort(reasons)
		row(&b, name, all, func(r results) string { return cell(r.Tests[group[0]]) }, strings.Join(slices.Compact(reasons), "; "))
	}
	return b.String()
}

// grouped returns the names one by one, but those of a package as one group if they are all of its tests, with the same outcomes.
func grouped(incomplete []string, all []results) [][]string {
	outcomes := func(name string) string {
		var text strings.Builder
		for _, r := range all {
			text.WriteString(cell(r.Tests[name]) + strings.Join(r.Tests[name].Reasons, ";") + "|")
		}
		return text.String()
	}
	packageOf := func(name string) string { pkg, _, _ := strings.Cut(name, " "); return pkg }
	var groups [][]string
	for len(incomplete) > 0 {
		first := incomplete[0]
		differs := func(name string) bool {
			return packageOf(name) != packageOf(first) || outcomes(name) != outcomes(first)
		}
		end := slices.IndexFunc(incomplete, differs)
		if end < 0 {
			end = len(incomplete)
		}
		isOther := func(name string) bool { return packageOf(name) == packageOf(first) && differs(name) }
		if slices.ContainsFunc(names(all), isOther) {
			end = 1
		}
		groups = append(groups, incomplete[:end])
		incomplete = incomplete[end:]
	}
	return groups
}

func names(all []results) []string {
	seen := map[string]bool{}
	for _, r := range all {
		for name := range r.Tests {
			seen[name] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// cell returns the outcome of a test.
func cell(o outcome) string {
	switch {
	case o.Action == "":
		return "not run"
	case o.Action == failed:
		return "**failed**"
	case o.Action == skipped:
		return "skipped"
	case o.Skipped > 0:
		return fmt.Sprintf("passed, without %d of %d cases", o.Skipped, o.Subtests)
	default:
		return "passed"
	}
}

// count returns the numbers of tests of a package by outcome.
func count(r results, pkg string) string {
	numbers := map[string]int{}
	for name, o := range r.Tests {
		if strings.HasPrefix(name, pkg+" ") {
			numbers[o.Action]++
		}
	}
	var parts []string
	for _, one := range []struct{ action, text string }{{passed, "passed"}, {skipped, "skipped"}, {failed, "**failed**"}} {
		if n := numbers[one.action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, one.text))
		}
	}
	return strings.Join(parts, ", ")
}

func header(b *strings.Builder, first string, all []results, last ...string) {
	row(b, first, all, results.title, last...)
	row(b, "---", all, func(results) string { return "---" }, slices.Repeat([]string{"---"}, len(last))...)
}

func row(b *strings.Builder, first string, all []results, text func(results) string, last ...string) {
	b.WriteString("| " + first)
	for _, r := range all {
		b.WriteString(" | " + text(r))
	}
	for _, text := range last {
		b.WriteString(" | " + text)
	}
	b.WriteString(" |\n")
}

// The results are between these lines of docs/compatibility.md.
const (
	begin = "<!-- make e2e-versions UPDATE=yes writes the results from here -->\n\n"
	end   = "\n<!-- to here -->\n"
)

// writePage writes the results to docs/compatibility.md.
func writePage(root, text string) error {
	file := filepath.Join(root, "docs", "compatibility.md")
	page, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("writing the results: %s has no lines %q and %q", file, begin, end)
	}
	if err := os.WriteFile(file, []byte(before+begin+text+end+after), 0o644); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}
