package merge_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestMergePackagesImportNoHTTP lists all that the sub-packages import: neither HTTP nor Kubernetes clients and types. Their imports from
// this module are in test/layout.
func TestMergePackagesImportNoHTTP(t *testing.T) {
	const module = "github.com/ownership-handoff/handoff/"
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
				if path == "net" || path == "net/http" || strings.HasPrefix(path, "k8s.io/") {
					t.Errorf("%s imports %s", name, path)
				}
			}
		})
	}
}
