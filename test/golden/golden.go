// Package golden compares what a test has got with a file, which UPDATE_GOLDEN=1 writes anew.
package golden

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Settle takes out of a text what is another at each run: times, and how long ago something was at the end of a line.
func Settle(text string) string {
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(text, "TIME")
	return regexp.MustCompile(`(?m) (\d+[smhdy])+$`).ReplaceAllString(text, " AGE")
}

// Check compares a text, settled, with testdata/NAME.golden.
func Check(t *testing.T, name, got string) {
	t.Helper()
	got = Settle(got)
	path := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with UPDATE_GOLDEN=1 go test", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
