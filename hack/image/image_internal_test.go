package image

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
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const repository = "ghcr.io/ownership-handoff/handoff-webhook"

// TestTheImage builds the last commit twice, from clones in two folders, and checks the images with go-containerregistry. Changes
// that are not committed are not in them.
func TestTheImage(t *testing.T) {
	setEpoch(t, "")
	first, second := clone(t, "first"), clone(t, "second/in/another/place")
	var printed bytes.Buffer
	if err := Run(t.Context(), []string{"--source", first, "--output", filepath.Join(first, "bin", "image")}, &printed); err != nil {
		t.Fatal(err)
	}

	t.Run("another clone gives the same bytes, whatever its user has set", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-tags=netgo -ldflags=-linkmode=internal")
		t.Setenv("GOAMD64", "v3")
		t.Setenv("CGO_ENABLED", "1")
		t.Setenv("TZ", "Pacific/Auckland")
		var again bytes.Buffer
		if err := Run(t.Context(), []string{"--source", second, "--output", filepath.Join(second, "bin", "image")}, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(printed.String(), strings.ReplaceAll(again.String(), second, first)); diff != "" {
			t.Errorf("output (-first +second):\n%s", diff)
		}
		for _, file := range []string{"bin/image/index.json", "bin/image-amd64.tar", "bin/image-arm64.tar"} {
			if !bytes.Equal(read(t, filepath.Join(first, file)), read(t, filepath.Join(second, file))) {
				t.Errorf("%s differs in the second clone", file)
			}
		}
	})

	version := git(t, first, describe()[1:]...)
	tag, err := name.NewTag(repository + ":" + version)
	if err != nil {
		t.Fatal(err)
	}
	index := readLayout(t, filepath.Join(first, "bin", "image"), version)
	want := []string{tag.String(), "index        " + digest(t, index) + " " + filepath.Join(first, "bin", "image")}
	for _, architecture := range []string{"amd64", "arm64"} {
		file := filepath.Join(first, "bin", "image-"+architecture+".tar")
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
		t.Errorf("output (-want +got):\n%s", diff)
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
