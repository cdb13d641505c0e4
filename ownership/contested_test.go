package ownership_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/ownership"
)

// TestAFieldGoesWithTheListElementThatItIsIn verifies when a controller's field is contested.
func TestAFieldGoesWithTheListElementThatItIsIn(t *testing.T) {
	rule := ownership.Rule{Fields: fieldpattern.MustParse(`.spec.list[name="a"].x`, ".spec.pool.size"), Writers: []string{"resizer"}}
	managers := ruled(ownership.Managers{Appliers: []string{"flux"}}, rule)
	of := func(spec string, entries ...string) ownership.Object {
		return object(t, liveWith(`,"spec":`+spec, "", entries...))
	}
	resized := entry("resizer", "Update", early, `{"f:spec":{"f:list":{"k:{\"name\":\"a\"}":{"f:x":{}}},"f:pool":{"f:size":{}}}}`, "")
	const pool, list = `{"pool":{"size":1}}`, `{"list":[{"name":"a","x":1}]}`
	for sentence, c := range map[string]struct {
		live, incoming string
		want           bool
	}{
		"the element is there":                    {list, `{"list":[{"name":"a"}]}`, true},
		"the element has been deleted":            {list, `{"list":[]}`, false},
		"the list with its element is missing":    {list, `{}`, false},
		"the manifest makes the element a string": {list, `{"list":["a"]}`, false},
		"the manifest makes the list an object":   {list, `{"list":{}}`, false},
		"its parent is no list element":           {pool, `{}`, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w, got := read(t, managers, "flux", of(c.live, resized), of(c.incoming, entry("flux", "Apply", late, ownsImage, ""))), false
			for range search(t, w).Contested() {
				got = true
			}
			if got != c.want {
				t.Errorf("contested: want %t, got %t", c.want, got)
			}
		})
	}
}
