package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// clone returns a clone of the repository of this module, in a folder with a name.
func clone(t *testing.T, folder string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), folder)
	git(t, "../..", "clone", "--quiet", ".", dir)
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, said)
	}
	return strings.TrimSpace(string(said))
}

// readLayout checks an OCI layout and its name, and returns the index of all platforms.
func readLayout(t *testing.T, dir, named string) v1.ImageIndex {
	t.Helper()
	folder, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := folder.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("got %d entries in the layout, want one for the index of all platforms", len(manifest.Manifests))
	}
	if got := manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"]; got != named {
		t.Errorf("the layout names its index %q, not %q", got, named)
	}
	index, err := folder.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error("the index:", err)
	}
	return index
}

// imageOf returns the image for linux/ARCHITECTURE.
func imageOf(t *testing.T, index v1.ImageIndex, architecture string) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range manifest.Manifests {
		if one.Platform.Equals(v1.Platform{OS: "linux", Architecture: architecture}) {
			image, err := index.Image(one.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	t.Fatalf("the index has no image for linux/%s", architecture)
	return nil
}

func digest(t *testing.T, of interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	hash, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return hash.String()
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// compiler returns the version of Go.
func compiler(t *testing.T) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), "go", "env", "GOVERSION").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(version))
}

// setEpoch sets SOURCE_DATE_EPOCH until the test ends. If it is empty, the variable is unset, whatever the environment has.
func setEpoch(t *testing.T, seconds string) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", seconds)
	if seconds == "" {
		if err := os.Unsetenv("SOURCE_DATE_EPOCH"); err != nil {
			t.Fatal(err)
		}
	}
}
