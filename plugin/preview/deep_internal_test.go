package preview

import (
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// TestWarningsAreNotSearchedInDeepValues looks for the field of a warning in a value that is nested as deep as the API server accepts.
// A search of each member once for each of the two objects takes twice as long with each level.
func TestWarningsAreNotSearchedInDeepValues(t *testing.T) {
	const depth = 9900
	deep := jsontree.Valid([]byte(`{"x":` + strings.Repeat(`{"a":`, depth) + `1` + strings.Repeat("}", depth) + `}`))
	tried := &trial{with: deep, live: deep, warnings: []string{"handoff: kept .y=1, owned by a"}, used: map[string]bool{}}
	if tried.addWarned(fieldpath.MakePathOrDie("x")) {
		t.Error("want no field")
	}
}
