package ownership_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/ownership"
)

func foldLines(folds []ownership.Fold) (lines []string) {
	for _, f := range folds {
		lines = append(lines, fmt.Sprintf("%s %s %s %d", f.Path, f.Owner.Kind, f.Owner.By, len(f.Fields)))
	}
	return lines
}

func TestFold(t *testing.T) {
	for name, c := range map[string]struct {
		live string
		want []string
	}{
		"a whole object": {liveWith(`,"a":{"b":1,"c":2}`, "", entryOf("me/Apply", "", `{"f:a":{"f:b":{},"f:c":{}}}`)), []string{".a Manifest me 2"}},
		"two owners": {
			liveWith(`,"a":{"b":{"x":1,"y":2},"c":2}`, "", entryOf("me/Apply", "", `{"f:a":{"f:b":{"f:x":{},"f:y":{}}}}`)),
			[]string{".a.b Manifest me 2", ".a.c Default  1"},
		},
		"two managers of one owner":             {liveWith(`,"a":1,"b":2`, "", entryOf("me/Apply", "", `{"f:a":{}}`), entryOf("you/Apply", "", `{"f:b":{}}`)), []string{".a Manifest me 1", ".b Manifest you 1"}},
		"a single field deep within":            {liveWith(`,"a":{"b":{"c":1}}`, ""), []string{".a.b.c Unknown  1"}},
		"a managed field nested under a scalar": {liveWith(`,"a":1`, "", entryOf("me/Apply", "", `{"f:a":{"f:b":{}}}`)), []string{".a Default  1", ".a.b Manifest me 1"}},
		"nothing":                               {`{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, foldLines(fieldsOf(t, c.live).Fold())); diff != "" {
				t.Errorf("folds (-want +got):\n%s", diff)
			}
		})
	}
}
