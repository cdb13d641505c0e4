package table_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/internal/table"
)

func TestColumnsAreAsWideAsTheirWidestCell(t *testing.T) {
	head := []string{"FIELD", "VALUE", "WHY"}
	rows := []table.Row{{Cells: []string{".größe", "7", "kept"}, At: 1, Color: 35}, {Cells: []string{".a", "", "set"}}}
	for sentence, c := range map[string]struct {
		style table.Style
		want  string
	}{
		"plain":   {table.Style{}, "FIELD    VALUE   WHY\n.größe   7       kept\n.a               set\n"},
		"colored": {table.Style{Color: true}, "FIELD    VALUE   WHY\n.größe   \x1b[35m7\x1b[0m       kept\n.a               set\n"},
	} {
		var got strings.Builder
		if err := c.style.Write(&got, head, rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}

func TestAgesAndLongTexts(t *testing.T) {
	style := table.Style{Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for got, want := range map[string]string{
		style.Age("2026-01-02T03:04:00Z"): "5s",
		style.Age(""):                     "-",
		table.Dash(""):                    "-",
		table.Dash("web"):                 "web",
		table.Shorten("a\n b", 5):         "a b",
		table.Shorten("größer", 4):        "grö…",
		table.Shorten("groß", 4):          "groß",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
