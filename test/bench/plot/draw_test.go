package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResultsAreDrawn(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, `{"part":"latency","plots":[{"name":"times","title":"Time","x":{"label":"ms","log":true},"y":{"label":"%"},
		"series":[{"name":"handoff","points":[[1,10],[2,20]]},{"name":"reference","points":[[1,5],[3,30]]}]}]}`)
	if err := run([]string{folder}); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(folder, "times.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "Time", "handoff", "reference"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the plot does not contain %q", want)
		}
	}
}

func TestErrors(t *testing.T) {
	for sentence, test := range map[string]struct{ content, want string }{
		"no results":                  {"", "run make bench"},
		"not JSON":                    {"{", "decoding"},
		"zero on a logarithmic scale": {`{"plots":[{"x":{"log":true},"series":[{"points":[[0,1],[1,1]]}]}]}`, "not positive"},
		"a line without points":       {`{"plots":[{"series":[{"name":"a"}]}]}`, `line "a" has no points`},
	} {
		t.Run(sentence, func(t *testing.T) {
			folder := t.TempDir()
			if test.content != "" {
				write(t, folder, test.content)
			}
			err := run([]string{folder})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want an error with %q, got %v", test.want, err)
			}
		})
	}
}

func write(t *testing.T, folder, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "part.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
