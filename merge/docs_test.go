package merge_test

import (
	"testing"

	"github.com/ownership-handoff/handoff/internal/doctest"
)

// TestTheMergeDocIsTrue checks the links of docs/merge.md, and the rows that have tests here.
func TestTheMergeDocIsTrue(t *testing.T) { doctest.Check(t, "../docs/merge.md", nil) }
