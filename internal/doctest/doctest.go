// Package doctest checks documents against the code that they describe.
package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Sides are the inputs and the result of a merge, by column of the document's tables.
type Sides map[string]string

// Check checks a document. Each link must lead to an existing file, heading, or name in a Go file. Each row of a table that
// follows a link to a test in the current directory must be a case of this test, with the values in the row. Each of the
// given cases, by test, must be in the document.
func Check(t *testing.T, document string, cases map[string]map[string]Sides) {
	t.Helper()
	text, err := os.ReadFile(document) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	c := docCheck{t: t, document: document, cases: cases, shown: map[string]bool{}}
	for i, line := range strings.Split(string(text), "\n") {
		c.line = i + 1
		c.links(line)
		c.row(line)
	}
	for test, cases := range c.cases {
		for name := range cases {
			if !c.shown[test+"/"+name] {
				t.Errorf("%s does not contain case %q of %s", document, name, test)
			}
		}
	}
}

// CheckLinks checks that each link of a document leads to an existing file or heading.
func CheckLinks(t *testing.T, document string) {
	t.Helper()
	text, err := os.ReadFile(document) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	c := docCheck{t: t, document: document}
	for _, at := range linkPattern().FindAllSubmatchIndex(text, -1) { // a label can contain a line break
		c.line = 1 + strings.Count(string(text[:at[0]]), "\n")
		c.target(string(text[at[4]:at[5]]))
	}
}

// docCheck is the state of a check.
type docCheck struct {
	t        *testing.T
	document string
	line     int
	cases    map[string]map[string]Sides
	shown    map[string]bool // by test/case

	// The test that was linked last, and the prefix of the names of its cases.
	test, prefix string
	elsewhere    bool     // the test is in another directory, which has its own check
	source       string   // of its file
	columns      []string // of the current table
}

func (c *docCheck) errorf(format string, args ...any) {
	c.t.Helper()
	c.t.Errorf("%s:%d: "+format, append([]any{c.document, c.line}, args...)...)
}

func linkPattern() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`) }

func (c *docCheck) links(line string) {
	for _, link := range linkPattern().FindAllStringSubmatch(line, -1) {
		if path, ok := c.target(link[2]); ok && strings.HasSuffix(path, ".go") {
			c.name(path, strings.Trim(link[1], "`"))
		}
	}
}

// target checks the target of a link, and returns its file. ok is false if it is not in this repository or does not exist.
func (c *docCheck) target(target string) (path string, ok bool) {
	if strings.HasPrefix(target, "https://") {
		return "", false
	}
	file, anchor, _ := strings.Cut(target, "#")
	path = c.document
	if file != "" {
		path = filepath.Join(filepath.Dir(c.document), file)
	}
	if info, err := os.Stat(path); err != nil { //nolint:gosec // a link of this repository's own documentation
		c.errorf("broken link %s: %v", target, err)
		return "", false
	} else if info.IsDir() {
		return path, true
	}
	text, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		c.errorf("broken link %s: %v", target, err)
		return "", false
	}
	if anchor != "" && !slices.Contains(anchors(string(text)), anchor) {
		c.errorf("%s has no heading #%s", path, anchor)
	}
	return path, true
}

// name checks the text of a link to a Go file: a name such as threeway.Merge, or TestX/the beginning of a case.
func (c *docCheck) name(path, label string) {
	text, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		c.t.Fatal(err)
	}
	source := string(text)
	declares := func(name string) bool { // at the beginning of a line, or of one in a block
		return regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t(\w+, )*)` + regexp.QuoteMeta(name) + `\b`).MatchString(source)
	}
	if !strings.HasSuffix(path, "_test.go") {
		if declared := label[strings.LastIndexByte(label, '.')+1:]; !declares(declared) {
			c.errorf("%s does not declare %s", path, declared)
		}
		return
	}
	test, begins, sub := strings.Cut(label, "/")
	if !declares(test) {
		c.errorf("%s has no test %s", path, test)
	}
	c.test, c.prefix, c.source, c.columns = test, "", source, nil
	folder, err := filepath.Abs(filepath.Dir(path))
	here, errHere := filepath.Abs(".")
	c.elsewhere = err != nil || errHere != nil || folder != here
	if !sub {
		return
	}
	if !strings.Contains(source, `"`+begins) {
		c.errorf("%s has no case %q", path, begins)
	}
	c.prefix = begins + ": "
}

// row checks a row of a table that begins with the name of a case.
func (c *docCheck) row(line string) {
	if !strings.HasPrefix(line, "| ") {
		if strings.HasPrefix(line, "#") {
			c.test = ""
		}
		if !strings.HasPrefix(line, "|") {
			c.columns = nil
		}
		return
	}
	cells := strings.Split(strings.Trim(line, "| "), " | ")
	if c.columns == nil {
		c.columns = cells
		return
	}
	if c.columns[0] != "case" {
		return
	}
	if c.test == "" {
		c.errorf("no link to a test above the table")
		return
	}
	if c.elsewhere {
		return
	}
	name := c.prefix + cells[0]
	cases, shows := c.cases[c.test]
	has, known := cases[name]
	switch {
	case shows && !known, !shows && !strings.Contains(c.source, strconv.Quote(name)):
		c.errorf("%s has no case %q", c.test, name)
		return
	case !shows:
		return
	}
	c.shown[c.test+"/"+name] = true
	for i, cell := range cells[1:] {
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			if side := c.columns[i+1]; !strings.Contains(has[side], code[1]) {
				c.errorf("%s of %q is %s, and has no %s", side, name, has[side], code[1])
			}
		}
	}
}

// anchors returns the anchors of a document's headings.
func anchors(text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			anchor := strings.Map(func(r rune) rune {
				switch {
				case r == ' ':
					return '-'
				case strings.ContainsRune("`'\".,:?()…", r):
					return -1
				default:
					return r
				}
			}, strings.ToLower(strings.TrimSpace(heading)))
			found = append(found, anchor)
		}
	}
	return found
}
