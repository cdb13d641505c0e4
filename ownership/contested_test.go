package ownership_test

import (
	"slices"
	"testing"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestAFieldGoesWithTheListElementThatItIsIn verifies when a controller's field in a list element is contested.
func TestAFieldGoesWithTheListElementThatItIsIn(t *testing.T) {
	rule := ownership.Rule{Fields: fieldpattern.MustParse(`.spec.list[name="a"].x`), Writers: []string{"resizer"}}
	managers := ruled(ownership.Managers{Appliers: []string{"flux"}}, rule)
	resized := entry("resizer", "Update", early, `{"f:spec":{"f:list":{"k:{\"name\":\"a\"}":{"f:x":{}}}}}`, "")
	live := object(t, liveWith(`,"spec":{"list":[{"name":"a","x":1}]}`, "", resized))
	for incoming, want := range map[string]bool{
		`{"list":[{"name":"a"}]}`: true,
		`{"list":[]}`:             false,
		`{}`:                      false,
		`{"list":["a"]}`:          false,
		`{"list":{}}`:             false,
	} {
		is := object(t, liveWith(`,"spec":`+incoming, "", entry("flux", "Apply", late, ownsImage, "")))
		contested := slices.Collect(search(t, read(t, managers, "flux", live, is)).Contested())
		if got := len(contested) == 1; got != want {
			t.Errorf("%s: contested: want %t, got %t", incoming, want, got)
		}
	}
}
