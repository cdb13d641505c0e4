package table_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/internal/table"
)

func TestColumnsAreAsWideAsTheirWidestCell(t *testing.T) {
	var got strings.Builder
	rows := [][]string{{".größe", "7", "kept"}, {".a", "", "set"}}
	if err := table.Write(&got, []string{"FIELD", "VALUE", "WHY"}, rows); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("FIELD    VALUE   WHY\n.größe   7       kept\n.a               set\n", got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAgesAndLongTexts(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for got, want := range map[string]string{
		table.Age("2026-01-02T03:04:00Z", now): "5s",
		table.Age("", now):                     "-",
		table.Shorten("a\n b", 5):              "a b",
		table.Shorten("größer", 4):             "grö…",
		table.Shorten("groß", 4):               "groß",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
