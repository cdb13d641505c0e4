// Package golden reads files for tests, and compares the output of a test with a golden file or with tables of a page. UPDATE_GOLDEN=1
// rewrites the golden file.
package golden

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Read returns the text of a file.
func Read(tb testing.TB, path ...string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Files returns the files in a folder with one of the extensions, without those that are built.
func Files(t *testing.T, folder string, extensions ...string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "bin" || entry.Name() == ".git"):
			return filepath.SkipDir
		case slices.Contains(extensions, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Settle replaces the parts of a text that differ between runs: times, and ages at the end of a line.
func Settle(text string) string {
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(text, "TIME")
	return regexp.MustCompile(`(?m) (\d+[smhdy])+$`).ReplaceAllString(text, " AGE")
}

// Check compares a settled text with testdata/NAME.golden.
func Check(t *testing.T, name, got string) {
	t.Helper()
	CheckEdited(t, name, got, nil)
}

// CheckEdited is like Check for a text that differs from the file in known places. The pairs are texts of the file and what
// replaces them, as for strings.NewReplacer. With any, it does not rewrite the file.
func CheckEdited(t *testing.T, name, got string, pairs []string) {
	t.Helper()
	got = Settle(got)
	path := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" && len(pairs) == 0 {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with UPDATE_GOLDEN=1 go test", err)
	}
	if diff := cmp.Diff(strings.NewReplacer(pairs...).Replace(string(want)), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// WithTable returns a page of Markdown with another table below a heading: rows of cells, of which the first is the header.
func WithTable(page, heading string, rows [][]string) string {
	heading = "\n## " + heading + "\n"
	before, after, _ := strings.Cut(page, heading)
	start := strings.Index(after, "\n| ") + 1
	end := start + strings.Index(after[start:], "\n\n") + 1
	var table strings.Builder
	for i, cells := range rows {
		table.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			table.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
		}
	}
	return before + heading + after[:start] + table.String() + after[end:]
}
