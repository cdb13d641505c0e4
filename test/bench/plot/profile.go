package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

const (
	// module is that of the functions in the table.
	module = "github.com/ownership-handoff/handoff/"
	// leastShare is the share of the time from which on a row is in a table.
	leastShare = 0.05
)

// spent is the time of a function, in samples of the profile: its own, and with all that it calls.
type spent struct{ own, all int64 }

// writeProfile writes a table of the functions that take the most time in kept.pprof, if there is one.
func writeProfile(folder string) error {
	file, err := os.Open(filepath.Join(folder, "kept.pprof"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the profile: %w", err)
	}
	defer func() { _ = file.Close() }()
	read, err := profile.Parse(file)
	if err != nil {
		return fmt.Errorf("parsing the profile: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "profile.md"), []byte(tableOf(read)), 0o600); err != nil {
		return fmt.Errorf("writing the table of the profile: %w", err)
	}
	return nil
}

// tableOf returns a table of the module's functions, without the benchmark's, and one of the packages in which the time is spent.
func tableOf(p *profile.Profile) string {
	functions, total := sum(p)
	var b strings.Builder
	b.WriteString("| share of the time | function, with what it calls |\n|---|---|\n")
	row := func(samples int64, name string) {
		if share := float64(samples) / float64(total); share >= leastShare {
			fmt.Fprintf(&b, "| %.0f %% | `%s` |\n", 100*share, name)
		}
	}
	for _, name := range sorted(functions, func(s spent) int64 { return s.all }) {
		short, ours := strings.CutPrefix(name, module)
		if ours && !strings.HasPrefix(short, "test/") && !strings.Contains(short, ".func") {
			row(functions[name].all, short)
		}
	}
	b.WriteString("\n| share of the time | package, without what it calls |\n|---|---|\n")
	packages := map[string]spent{}
	for name, at := range functions {
		name = packageOf(name)
		packages[name] = spent{own: packages[name].own + at.own}
	}
	for _, name := range sorted(packages, func(s spent) int64 { return s.own }) {
		row(packages[name].own, name)
	}
	return b.String()
}

// sorted returns names by their time, the longest first.
func sorted(times map[string]spent, by func(spent) int64) []string {
	return slices.SortedFunc(maps.Keys(times), func(a, b string) int {
		return cmp.Or(cmp.Compare(by(times[b]), by(times[a])), strings.Compare(a, b))
	})
}

// packageOf returns the package in the name of a function, such as path/to/package.(*Type).Method.
func packageOf(name string) string {
	name, _, _ = strings.Cut(name, "[") // type arguments contain packages as well
	folder, last := path.Split(name)
	last, _, _ = strings.Cut(last, ".")
	return strings.TrimPrefix(folder+last, module)
}

// sum returns the times by function, and the time of all samples.
func sum(p *profile.Profile) (functions map[string]spent, total int64) {
	functions = map[string]spent{}
	for _, sample := range p.Sample {
		total += sample.Value[0]
		seen := map[string]bool{} // a recursive function counts once
		for depth, location := range sample.Location {
			for inlined, line := range location.Line {
				name := line.Function.Name
				at := functions[name]
				if depth == 0 && inlined == 0 {
					at.own += sample.Value[0]
				}
				if !seen[name] {
					at.all += sample.Value[0]
					seen[name] = true
				}
				functions[name] = at
			}
		}
	}
	return functions, total
}
