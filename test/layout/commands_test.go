package layout_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/golden"
)

const root = "../.."

// go test passes if its -run pattern matches no test. So a test that is renamed would no longer run, and nothing would fail.
func TestEveryPatternOfACommandMatchesATest(t *testing.T) {
	command := regexp.MustCompile(`go test [^\n]*`)
	pattern, folder := regexp.MustCompile(`-run[ =]'?([\w|^/]+)`), regexp.MustCompile(`\./[\w/]+`)
	checked := 0
	for _, file := range documents(t) {
		for _, line := range command.FindAllString(golden.Read(t, file), -1) {
			line, _, _ = strings.Cut(line, "`")
			run := pattern.FindStringSubmatch(line)
			if run == nil {
				continue
			}
			checked++
			name, _, _ := strings.Cut(run[1], "/")
			for _, dir := range folder.FindAllString(line, -1) {
				if !matches(name, testsIn(t, dir)) {
					t.Errorf("%s: %q: no test in %s matches %q", file, line, dir, name)
				}
			}
		}
	}
	if checked < 4 {
		t.Errorf("only %d commands with -run were found", checked)
	}
}

// make test skips the tests that measure, which the race detector distorts, and runs them alone afterwards.
func TestTestsThatSkipUnderTheRaceDetectorRunAlone(t *testing.T) {
	line := regexp.MustCompile(`(?m)^\tgo test -vet=off -timeout 20m -run '([^']+)' (.*)$`).FindStringSubmatch(golden.Read(t, root+"/Makefile"))
	if line == nil {
		t.Fatal("the Makefile has no such command")
	}
	skipped := regexp.MustCompile(`(?s)func (Test\w+)\(t \*testing\.T\) \{\n\tif race\.Enabled`)
	found := 0
	for _, file := range testFiles(t) {
		dir := "./" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), root+"/")
		for _, test := range skipped.FindAllStringSubmatch(golden.Read(t, file), -1) {
			found++
			if !matches(line[1], test[1:2]) || !strings.Contains(line[2]+" ", dir+" ") {
				t.Errorf("%s in %s is not run: %s", test[1], dir, line[0])
			}
		}
	}
	if found != strings.Count(strings.Join(readAll(t, testFiles(t)), ""), "\tif race"+".Enabled {") {
		t.Error("a test is skipped under the race detector, but not in its first line")
	}
}

// make e2e-oldest and e2e-kind select tests by the beginnings of their names.
func TestEveryTestOfTheOldestVersionExists(t *testing.T) {
	tests := slices.Concat(testsIn(t, "test/e2e"), testsIn(t, "test/sequences"), testsIn(t, "test/manifests"))
	lists := regexp.MustCompile(`(?ms)^(?:DECISIONS|INSTALLED) := (.*?[^\\])$`).FindAllStringSubmatch(golden.Read(t, root+"/Makefile"), -1)
	if len(lists) != 2 {
		t.Fatalf("the Makefile has %d of the two lists", len(lists))
	}
	for _, name := range strings.Fields(strings.NewReplacer("\\", "", "$$", "$").Replace(lists[0][1] + " " + lists[1][1])) {
		if !matches("^Test"+name, tests) {
			t.Errorf("no test begins with Test%s", name)
		}
	}
}

// documents returns the Makefile and all Markdown files.
func documents(t *testing.T) []string {
	t.Helper()
	return append([]string{root + "/Makefile"}, glob(t, "/*.md", "/docs/*.md")...)
}

// glob returns the files that match patterns below the root.
func glob(t *testing.T, patterns ...string) (files []string) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(root + pattern)
		expect.NoError(t, err)
		files = append(files, found...)
	}
	return files
}

// testFiles returns the test files of this module, without those of this package.
func testFiles(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(golden.Files(t, root, ".go"), func(path string) bool {
		return !strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "test/layout/")
	})
}

// testsIn returns the names of the tests in one folder.
func testsIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, text := range readAll(t, glob(t, "/"+dir+"/*_test.go")) {
		for _, test := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(text, -1) {
			names = append(names, test[1])
		}
	}
	return names
}

func matches(pattern string, names []string) bool {
	return regexp.MustCompile("(?m)" + pattern).MatchString(strings.Join(names, "\n"))
}

func readAll(t *testing.T, files []string) (texts []string) {
	t.Helper()
	for _, file := range files {
		texts = append(texts, golden.Read(t, file))
	}
	return texts
}
