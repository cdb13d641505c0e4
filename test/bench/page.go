package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

// writePage writes the last results of all parts as a page of Markdown, without those of parts that were never measured.
func writePage(o options) error {
	var b strings.Builder
	b.WriteString("# Results of the last run\n\n" +
		"`make bench UPDATE=yes` writes this page. [performance.md](../performance.md) explains it.\n")
	for _, p := range parts(o) {
		text, err := os.ReadFile(filepath.Join(o.folder, p.name+".json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading a result: %w", err)
		}
		var result table.Result
		if err := json.Unmarshal(text, &result); err != nil {
			return fmt.Errorf("decoding the result of part %s: %w", p.name, err)
		}
		if len(result.Rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\nVersion %s, %s.\n\n", p.name, result.Version, result.Machine)
		if err := table.Markdown(&b, result.Rows); err != nil {
			return err
		}
		for _, plot := range result.Plots {
			fmt.Fprintf(&b, "\n![%s](%s.svg)\n", plot.Title, plot.Name)
		}
	}
	if err := os.MkdirAll(filepath.Dir(o.page), 0o755); err != nil {
		return fmt.Errorf("writing the page of results: %w", err)
	}
	if err := os.WriteFile(o.page, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("writing the page of results: %w", err)
	}
	return nil
}
