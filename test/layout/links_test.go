package layout_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/doctest"
)

// TestEveryLinkOfADocumentLeadsSomewhere checks the links between Markdown files, with their anchors.
func TestEveryLinkOfADocumentLeadsSomewhere(t *testing.T) {
	pages := documents(t)[1:] // without the Makefile
	for _, pattern := range []string{"/docs/*/*.md", "/examples/*.md", "/.github/*.md"} {
		found, err := filepath.Glob(root + pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 15 {
		t.Fatalf("only %d documents were found", len(pages))
	}
	for _, page := range pages {
		doctest.CheckLinks(t, page)
	}
}

// TestEveryPageThatTheProgramsNameExists checks what programs and manifests say to their users: "docs/operations.md, a stale pod" names
// a page and its heading.
func TestEveryPageThatTheProgramsNameExists(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/([\w-]+\.md)(?:, ([a-z ]+)")?`)
	checked := 0
	for _, pattern := range []string{"/cmd/*/*.go", "/plugin/*/*.go", "/webhook/*.go", "/manifests/*/*.yaml", "/manifests/chart/*/*.yaml", "/manifests/components/*/*.json"} {
		files, err := filepath.Glob(root + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, name := range named.FindAllStringSubmatch(read(t, file), -1) {
				checked++
				page := read(t, filepath.Join(root, "docs", name[1]))
				if heading := name[2]; !strings.Contains(strings.ToLower(page), "# "+heading) {
					t.Errorf("%s: docs/%s has no heading %q", file, name[1], heading)
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d names of pages were found", checked)
	}
}

func TestTheRunbookHasEveryAlertAndMetric(t *testing.T) {
	runbook := read(t, root+"/docs/operations.md")
	names := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(read(t, root+"/manifests/components/monitoring/prometheusrule.yaml"), -1)
	for _, pattern := range []string{"/webhook/*.go", "/webhook/*/*.go"} {
		files, err := filepath.Glob(root + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range readAll(t, files) {
			names = append(names, regexp.MustCompile(`(?:Name: +|NewDesc\()"(handoff_\w+)"`).FindAllStringSubmatch(text, -1)...)
		}
	}
	if len(names) < 19 {
		t.Fatalf("only %d alerts and metrics were found", len(names))
	}
	for _, name := range names {
		if !strings.Contains(runbook, "`"+name[1]+"`") {
			t.Errorf("docs/operations.md does not explain %s", name[1])
		}
	}
}
