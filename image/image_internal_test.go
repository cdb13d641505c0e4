package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const repository = "ghcr.io/ownership-handoff/handoff-webhook"

// TestTheImage builds the last commit twice, from clones in two folders, and looks at what it has built with the readers of
// go-containerregistry. What is not committed is not in these images.
func TestTheImage(t *testing.T) {
	setEpoch(t, "")
	first, second := clone(t, "first"), clone(t, "second/in/another/place")
	var printed bytes.Buffer
	if err := run(t.Context(), []string{"--source", first, "--output", filepath.Join(first, "image")}, &printed); err != nil {
		t.Fatal(err)
	}

	t.Run("another clone gives the same bytes, whatever its user has set", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-tags=netgo -ldflags=-linkmode=internal")
		t.Setenv("GOAMD64", "v3")
		t.Setenv("CGO_ENABLED", "1")
		t.Setenv("TZ", "Pacific/Auckland")
		var again bytes.Buffer
		if err := run(t.Context(), []string{"--source", second, "--output", filepath.Join(second, "image")}, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(printed.String(), strings.ReplaceAll(again.String(), second, first)); diff != "" {
			t.Errorf("what is printed (-first +second):\n%s", diff)
		}
		for _, file := range []string{"image/index.json", "image-amd64.tar", "image-arm64.tar"} {
			if !bytes.Equal(read(t, filepath.Join(first, file)), read(t, filepath.Join(second, file))) {
				t.Errorf("%s is another file in the second clone", file)
			}
		}
	})

	version := git(t, first, describe()[1:]...)
	tag, err := name.NewTag(repository + ":" + version)
	if err != nil {
		t.Fatal(err)
	}
	index := readLayout(t, filepath.Join(first, "image"), version)
	want := []string{tag.String(), "index        " + digest(t, index) + " " + filepath.Join(first, "image")}
	for _, architecture := range []string{"amd64", "arm64"} {
		file := filepath.Join(first, "image-"+architecture+".tar")
		image := imageOf(t, index, architecture)
		want = append(want, "linux/"+architecture+"  "+digest(t, image)+" "+file)
		t.Run(architecture, func(t *testing.T) {
			loaded, err := tarball.ImageFromPath(file, &tag)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Image(loaded); err != nil {
				t.Error("the tarball:", err)
			}
			if diff := cmp.Diff(config(t, image), config(t, loaded)); diff != "" {
				t.Errorf("config of the image in the tarball (-layout +tarball):\n%s", diff)
			}
			checkConfig(t, loaded, architecture, version, git(t, first, "rev-parse", "HEAD"))
			checkLayer(t, loaded, architecture, git(t, first, "log", "-1", "--format=%ct"))
		})
	}
	if diff := cmp.Diff(strings.Join(want, "\n")+"\n", printed.String()); diff != "" {
		t.Errorf("what is printed (-want +got):\n%s", diff)
	}

	t.Run("the binary prints the version", func(t *testing.T) {
		if runtime.GOOS != "linux" {
			t.Skip("the image's binary runs on Linux only")
		}
		program := filepath.Join(t.TempDir(), entrypoint)
		if err := os.WriteFile(program, layerFiles(t, imageOf(t, index, runtime.GOARCH))[entrypoint].content, 0o700); err != nil {
			t.Fatal(err)
		}
		said, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		if want := "handoff-webhook " + version + "\n"; string(said) != want {
			t.Errorf("--version prints %q, not %q", said, want)
		}
	})
}

// clone is a clone of the repository of this module, in a folder of that name.
func clone(t *testing.T, folder string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), folder)
	git(t, "..", "clone", "--quiet", ".", dir)
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

// readLayout returns the index of all platforms of an OCI layout, which is valid and bears the name.
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
		t.Fatalf("the layout has %d entries, not one for the index of all platforms", len(manifest.Manifests))
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

// imageOf returns the image of linux/architecture.
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
