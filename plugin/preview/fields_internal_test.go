package preview

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/ownership"
)

// What handoff records is not a field that it acts on.
func TestRecordsAreNotCompared(t *testing.T) {
	o, err := ownership.ParseObject([]byte(
		`{"metadata":{"annotations":{"` + ownership.AppliedAnnotation + `":"{}","` + ownership.LastAppliedAnnotation + `":"{}"},"name":"web"}}`))
	expect.NoError(t, err)
	expect.Equal(t, "object", `{"metadata":{"name":"web"}}`, string(plain(o).Text()))
}
