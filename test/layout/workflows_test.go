package layout_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A tag of an action can be moved to other code, a commit cannot.
func TestWorkflowsPinActionsByCommit(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", ".github", "workflows", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("want workflows, got %q, %v", files, err)
	}
	uses := regexp.MustCompile(`uses: ([^\s}]+)(.*)`)
	pinned := regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range uses.FindAllStringSubmatch(string(text), -1) {
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
