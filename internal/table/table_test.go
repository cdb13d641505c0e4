package table_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/table"
)

func TestColumnsAreAsWideAsTheirWidestCell(t *testing.T) {
	var got strings.Builder
	rows := [][]string{{".größe", "7", "kept"}, {".a", "", "set"}}
	expect.NoError(t, table.Write(&got, []string{"FIELD", "VALUE", "WHY"}, rows))
	expect.Equal(t, "table", "FIELD    VALUE   WHY\n.größe   7       kept\n.a               set\n", got.String())
}

func TestAgesAndLongTexts(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, got := range map[string]string{
		"5s":   table.Age("2026-01-02T03:04:00Z", now),
		"-":    table.Age("", now),
		"a b":  table.Shorten("a\n b", 5),
		"grö…": table.Shorten("größer", 4),
		"groß": table.Shorten("groß", 4),
	} {
		expect.Equal(t, "age or text", want, got)
	}
}
