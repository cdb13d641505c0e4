package layout_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/test/golden"
)

// TestEveryLinkOfADocumentLeadsSomewhere checks the links between Markdown files, with their anchors.
func TestEveryLinkOfADocumentLeadsSomewhere(t *testing.T) {
	pages := glob(t, "/*.md", "/docs/*.md", "/docs/*/*.md", "/examples/*.md", "/.github/*.md")
	if len(pages) < 15 {
		t.Fatalf("only %d documents were found", len(pages))
	}
	for _, page := range pages {
		links(t, page)
	}
}

// links checks the links of a page: each must lead to a file or a heading that exists, and the text of a link to a Go file must be a
// name that the file declares.
func links(t *testing.T, page string) {
	t.Helper()
	text := golden.Read(t, page)
	for _, at := range regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`).FindAllStringSubmatchIndex(text, -1) { // a label can contain a line break
		label, link := strings.Trim(text[at[2]:at[3]], "`"), text[at[4]:at[5]]
		if strings.HasPrefix(link, "https://") {
			continue
		}
		where := fmt.Sprintf("%s:%d", page, 1+strings.Count(text[:at[0]], "\n"))
		file, anchor, _ := strings.Cut(link, "#")
		target := page
		if file != "" {
			target = filepath.Join(filepath.Dir(page), file)
		}
		info, err := os.Stat(target)
		switch {
		case err != nil:
			t.Errorf("%s: broken link: %v", where, err)
		case info.IsDir():
		case anchor != "" && !slices.Contains(anchors(golden.Read(t, target)), anchor):
			t.Errorf("%s: %s has no heading #%s", where, target, anchor)
		case strings.HasSuffix(target, ".go"):
			name := label[strings.LastIndexByte(label, '.')+1:]
			// At the beginning of a line, or of one in a block.
			if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t(\w+, )*)` + regexp.QuoteMeta(name) + `\b`).MatchString(golden.Read(t, target)) {
				t.Errorf("%s: %s does not declare %s", where, target, name)
			}
		}
	}
}

// anchors returns the anchors of a document's headings.
func anchors(text string) []string {
	var found []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		found = append(found, strings.ReplaceAll(regexp.MustCompile("[`'\".,:?()…]").ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-"))
	}
	return found
}

// TestEveryPageThatTheProgramsNameExists checks what programs and manifests say to their users: "docs/operations.md, a stale pod" names
// a page and its heading.
func TestEveryPageThatTheProgramsNameExists(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/([\w-]+\.md)(?:, ([a-z ]+)")?`)
	checked := 0
	for _, file := range glob(t, "/cmd/*/*.go", "/plugin/*/*.go", "/webhook/*.go", "/manifests/*/*.yaml", "/manifests/chart/*/*.yaml", "/manifests/components/*/*.json") {
		for _, name := range named.FindAllStringSubmatch(golden.Read(t, file), -1) {
			checked++
			page := golden.Read(t, filepath.Join(root, "docs", name[1]))
			if heading := name[2]; !strings.Contains(strings.ToLower(page), "# "+heading) {
				t.Errorf("%s: docs/%s has no heading %q", file, name[1], heading)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d names of pages were found", checked)
	}
}

// TestEveryTestThatADocumentNamesExists also verifies that each threat of the threat model has a test.
func TestEveryTestThatADocumentNamesExists(t *testing.T) {
	var declared []string
	for _, text := range readAll(t, testFiles(t)) {
		for _, name := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(text, -1) {
			declared = append(declared, name[1])
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	for _, page := range documents(t) {
		for _, name := range named.FindAllStringSubmatch(golden.Read(t, page), -1) {
			if !slices.Contains(declared, name[1]) {
				t.Errorf("%s names %s, which no file declares", page, name[1])
			}
		}
	}
	var tested []string
	for line := range strings.Lines(golden.Read(t, root+"/docs/security.md")) {
		cells := strings.Split(line, " | ")
		if ids := strings.TrimPrefix(cells[0], "| "); len(cells) == 4 && (named.MatchString(cells[3]) || strings.HasPrefix(cells[3], "not applicable")) {
			tested = append(tested, strings.Split(ids, ", ")...)
		}
	}
	for id := 1; id <= 18; id++ {
		if !slices.Contains(tested, strconv.Itoa(id)) {
			t.Errorf("docs/security.md names no test for threat %d", id)
		}
	}
}

func TestTheRunbookHasEveryAlertAndMetric(t *testing.T) {
	runbook := golden.Read(t, root+"/docs/operations.md")
	names := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(golden.Read(t, root+"/manifests/components/monitoring/prometheusrule.yaml"), -1)
	for _, text := range readAll(t, glob(t, "/webhook/*.go", "/webhook/*/*.go")) {
		names = append(names, regexp.MustCompile(`(?:Name: +|NewDesc\()"(handoff_\w+)"`).FindAllStringSubmatch(text, -1)...)
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
