package merge_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestMergePackagesImportNoHTTP lists all that the sub-packages import: neither HTTP, nor Kubernetes clients and types, nor other
// packages of this module.
func TestMergePackagesImportNoHTTP(t *testing.T) {
	const module = "github.com/ownership-handoff/handoff/"
	allowed := []string{module + "merge/schema", module + "internal/jsonnode"}
	for _, name := range []string{"schema", "threeway", "twoway"} {
		t.Run(name, func(t *testing.T) {
			this := module + "merge/" + name
			//nolint:gosec // the arguments are those of the table
			listed, err := exec.CommandContext(t.Context(), "go", "list", "-deps", this).Output()
			if err != nil {
				t.Fatal(err)
			}
			imports := strings.Fields(string(listed))
			if !slices.Contains(imports, this) {
				t.Fatalf("go list -deps does not list %s itself", this)
			}
			for _, path := range imports {
				switch {
				case path == this, slices.Contains(allowed, path):
				case path == "net", path == "net/http", strings.HasPrefix(path, "k8s.io/"), strings.HasPrefix(path, module):
					t.Errorf("%s imports %s", name, path)
				}
			}
		})
	}
}
