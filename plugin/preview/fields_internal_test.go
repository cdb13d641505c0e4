package preview

import (
	"testing"

	"github.com/ownership-handoff/handoff/ownership"
)

// What handoff records is not a field that it acts on.
func TestRecordsAreNotCompared(t *testing.T) {
	o, err := ownership.ParseObject([]byte(
		`{"metadata":{"annotations":{"` + ownership.AppliedAnnotation + `":"{}","` + ownership.LastAppliedAnnotation + `":"{}"},"name":"web"}}`))
	if got, want := string(plain(o).Text()), `{"metadata":{"name":"web"}}`; err != nil || got != want {
		t.Errorf("want %s, got %s, %v", want, got, err)
	}
}
