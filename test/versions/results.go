package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// results are the outcomes on one version.
type results struct {
	// Name is the name on the command line, 1.36 or 1.36:1.34. Server and Kubectl are the versions that ran.
	Name, Server, Kubectl string
	// Tests has each test without its subtests, by "test/e2e TestName".
	Tests map[string]outcome
}

// outcome is the result of a test. If some of its subtests were skipped, the test has passed and has the reasons.
type outcome struct {
	// Action is passed, failed or skipped, as in the output of go test -json.
	Action string
	// Reasons are why the test or its subtests were skipped, each once.
	Reasons []string
	// Skipped and Subtests are the numbers of subtests without subtests of their own.
	Skipped, Subtests int
}

// The actions with which a test ends.
const (
	passed  = "pass"
	failed  = "fail"
	skipped = "skip"
)

// wholePackage takes the place of a test's name if a package failed, but none of its tests.
const wholePackage = "(the package)"

func (r results) failed() []string {
	var names []string
	for name, o := range r.Tests {
		if o.Action == failed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// failures selects the tests that failed.
func (r results) failures() selection {
	var which selection
	names := r.failed()
	tests := make([]string, 0, len(names))
	for _, name := range names {
		pkg, test, _ := strings.Cut(name, " ")
		which.packages = append(which.packages, "./"+pkg)
		if test == wholePackage {
			test = ".*"
		}
		tests = append(tests, test)
	}
	slices.Sort(tests)
	which.packages = slices.Compact(which.packages) // of sorted names
	which.pattern = "^(" + strings.Join(slices.Compact(tests), "|") + ")$"
	return which
}

// replacedBy returns the results with those of the failed tests replaced by later ones.
func (r results) replacedBy(later results) results {
	tests := maps.Clone(r.Tests)
	for _, name := range r.failed() {
		delete(tests, name)
	}
	maps.Copy(tests, later.Tests)
	later.Tests = tests
	return later
}

// title is the heading of the column.
func (r results) title() string {
	if r.Server == r.Kubectl {
		return r.Server
	}
	return r.Server + ", kubectl " + r.Kubectl
}

func folder(root string) string { return filepath.Join(root, "bin", "versions") }

// fileName is the name of the results without a colon, which some file systems do not allow.
func fileName(name string) string { return strings.ReplaceAll(name, ":", "-kubectl-") }

func (r results) write(root string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder(root), fileName(r.Name)+".json"), text, 0o600); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// read returns the results of one version that are kept.
func read(root, name string) (r results, err error) {
	text, err := os.ReadFile(filepath.Join(folder(root), fileName(name)+".json"))
	if err != nil {
		return results{}, fmt.Errorf("reading the results: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return results{}, fmt.Errorf("reading the results of %s: %w", name, err)
	}
	return r, nil
}

// readAll returns all results that are kept, from the oldest version to the newest.
func readAll(root string) ([]results, error) {
	files, err := filepath.Glob(filepath.Join(folder(root), "*.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	all := make([]results, 0, len(files))
	for _, file := range files {
		r, err := read(root, strings.TrimSuffix(filepath.Base(file), ".json"))
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b results) int {
		return cmp.Or(compare(a.Server, b.Server), compare(a.Kubectl, b.Kubectl))
	})
	return all, nil
}

// compare compares two versions. One that cannot be parsed is compared as text.
func compare(a, b string) int {
	v, err := version.ParseSemantic(a)
	if err != nil {
		return strings.Compare(a, b)
	}
	order, err := v.Compare(b)
	if err != nil {
		return strings.Compare(a, b)
	}
	return order
}
