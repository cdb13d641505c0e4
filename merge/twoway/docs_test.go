package twoway_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/doctest"
)

// TestTheMergeDocIsTrue checks the cases that docs/merge.md shows with their values, by test.
func TestTheMergeDocIsTrue(t *testing.T) {
	cases := map[string]map[string]doctest.Sides{}
	for test, table := range map[string]map[string]twoWayCase{
		"TestTwoWayMergeRules": mergeRules, "TestTwoWayDirectives": directives, "TestTwoWayListOrders": listOrders,
	} {
		cases[test] = map[string]doctest.Sides{}
		for name, c := range table {
			cases[test][name] = doctest.Sides{"manifest": c.manifest, "live": c.live, "result": c.want}
		}
	}
	doctest.Check(t, "../../docs/merge.md", cases)
}
