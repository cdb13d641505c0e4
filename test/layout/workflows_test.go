package layout_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/test/golden"
)

// A tag of an action can be moved to other code, a commit cannot.
func TestWorkflowsPinActionsByCommit(t *testing.T) {
	files := glob(t, "/.github/workflows/*.yaml")
	if len(files) == 0 {
		t.Fatal("there are no workflows")
	}
	uses := regexp.MustCompile(`uses: ([^\s}]+)(.*)`)
	pinned := regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)
	for _, file := range files {
		for _, match := range uses.FindAllStringSubmatch(golden.Read(t, file), -1) {
			action, after := match[1], match[2]
			if strings.HasPrefix(action, "./") {
				continue // in this repository
			}
			if !pinned.MatchString(action) || !strings.HasPrefix(after, " # v") {
				t.Errorf("%s: uses %s%s: want a commit, and its version as a comment", filepath.Base(file), action, after)
			}
		}
	}
}
