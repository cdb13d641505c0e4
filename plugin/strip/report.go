package strip

import (
	"encoding/json"
	"fmt"

	"github.com/ownership-handoff/handoff/internal/table"
	"github.com/ownership-handoff/handoff/plugin/explain"
	"github.com/ownership-handoff/handoff/plugin/source"
)

// maxValueLen limits the length of a displayed value.
const maxValueLen = 80

// Object is an object of a file, and those of its fields that others own.
type Object struct {
	// File is the name of the file.
	File   string
	Fields []Field

	subject source.Subject
}

// MarshalJSON returns the machine-readable report on the object.
func (o Object) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": explain.APIVersion, "kind": "Strip", "file": o.File, "object": explain.ObjectOf(o.subject), "fields": o.Fields,
	})
}

// Lines returns what happened to the fields, one line each.
func (s *Stripper) Lines() (lines []string) {
	for _, o := range s.Objects {
		for _, field := range o.Fields {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", o.File, o.subject, o.sentence(field)))
		}
	}
	return lines
}

func (o Object) sentence(f Field) string {
	switch f.Action {
	case Set:
		return fmt.Sprintf("set %s to the live value %s, owned by %s; without the field, an apply could delete it: %s",
			f.Path, table.Shorten(o.subject.Show(f.path, f.live), maxValueLen), f.By, f.Reason)
	case Left:
		return fmt.Sprintf("left %s, owned by %s: %s", f.Path, f.By, f.Reason)
	default:
		return fmt.Sprintf("dropped %s, owned by %s", f.Path, f.By)
	}
}
