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

// mostValue is how many characters of a value are shown.
const mostValue = 80

// Diff says in lines what goes from where and, with a + instead of a -, what comes.
func (p Plan) Diff() []string {
	lines := make([]string, 0, len(p.cuts)+len(p.moves))
	for _, c := range p.cuts {
		value := table.Shorten(p.Show(c.path, c.value), mostValue)
		lines = append(lines, fmt.Sprintf("- last-applied: %s: %s", explain.Text(c.path), value))
	}
	for _, m := range p.moves {
		sign, applies := "-", ""
		if m.gains {
			sign = "+"
		}
		if m.entry.Operation == ownership.OperationApply {
			applies = " (Apply)"
		}
		on := Texts(slices.Concat(m.paths, m.containers))
		lines = append(lines, fmt.Sprintf("%s claim of %s%s: %s", sign, m.entry.Manager, applies, on))
	}
	return lines
}

// Texts lists paths.
func Texts(paths []fieldpath.Path) string {
	texts := make([]string, len(paths))
	for i, path := range paths {
		texts[i] = explain.Text(path)
	}
	return strings.Join(texts, ", ")
}

// Records returns the two records as they will be: the text of the annotation, empty where there is none, and managedFields.
func (p Plan) Records() (lastApplied string, managedFields json.RawMessage) {
	return p.text, textOf(p.after)
}
