package release

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/explain"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 80

// Diff returns the changes as lines: those with - are removed from a record, those with + are added.
func (p Plan) Diff() []string {
	lines := make([]string, 0, len(p.cuts)+len(p.moves))
	for _, c := range p.cuts {
		value := table.Shorten(p.Subject.Show(c.path, c.value), maxValueLen)
		lines = append(lines, fmt.Sprintf("- last-applied: %s: %s", explain.Text(c.path), value))
	}
	for _, m := range p.moves {
		sign, applies := "-", ""
		if m.direction == gains {
			sign = "+"
		}
		if m.entry.Operation == ownership.OperationApply {
			applies = " (Apply)"
		}
		on := Texts(slices.Concat(m.paths, m.ancestors))
		lines = append(lines, fmt.Sprintf("%s managed by %s%s: %s", sign, m.entry.Manager, applies, on))
	}
	return lines
}

// Texts returns paths as a comma-separated list.
func Texts(paths []fieldpath.Path) string {
	texts := make([]string, len(paths))
	for i, path := range paths {
		texts[i] = explain.Text(path)
	}
	return strings.Join(texts, ", ")
}

// Records returns the records after the release: the text of the annotation, or "" without one, and managedFields.
func (p Plan) Records() (lastApplied string, managedFields json.RawMessage) {
	return p.text, ownership.EncodeEntries(p.after)
}
