package threeway_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/doctest"
)

// TestTheMergeDocIsTrue checks the cases that docs/merge.md shows with their values, by test.
func TestTheMergeDocIsTrue(t *testing.T) {
	cases := map[string]map[string]doctest.Sides{}
	for test, table := range map[string]map[string]documented{
		"TestDeclarativeConfig": declarativeConfig, "TestDeclarativeConfigOfAStatefulSet": defaultsOfAStatefulSet,
		"TestFieldMergeSemantics": fieldMergeSemantics, "TestNullInTheManifest": nullInTheManifest,
		"TestNullInAMergePatch": nullInAMergePatch, "TestRetainKeys": retainKeys, "TestTheOrderOfElements": orderOfElements,
		"TestElementsMatchByKey": keysOfElements, "TestCustomResourcesMergeByTheirSchema": customResource,
	} {
		cases[test] = map[string]doctest.Sides{}
		for name, c := range table {
			cases[test][name] = doctest.Sides{"live": c.live, "base": c.base, "manifest": c.manifest, "result": c.want}
		}
	}
	doctest.Check(t, "../../docs/merge.md", cases)
}
