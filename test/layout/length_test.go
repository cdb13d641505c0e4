package layout_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/test/golden"
)

// A page that grows loses readers: a new statement replaces one, or stands where one stood twice. Tables that tests write do not count.
func TestTheDocumentationStaysShort(t *testing.T) {
	tables := map[string][]string{"clients.md": {"Clients that apply", "Clients that scale", "Programs"}, "catalogue.md": {"Rules", "Results"}}
	sum := 0
	for _, page := range glob(t, "/README.md", "/CONTRIBUTING.md", "/docs/*.md") {
		text := golden.Read(t, page)
		for _, heading := range tables[filepath.Base(page)] {
			text = golden.WithTable(text, heading, nil)
		}
		lines := strings.Count(text, "\n")
		if sum += lines; filepath.Base(page) == "README.md" && lines > 130 {
			t.Errorf("README.md has %d lines, want at most 130", lines)
		}
	}
	if sum > 2600 {
		t.Errorf("the documentation has %d lines, want at most 2600", sum)
	}
}
