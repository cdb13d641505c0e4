package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// checkImages checks the images of a release with go-containerregistry.
func checkImages(t *testing.T, o options) {
	t.Helper()
	tag, err := name.NewTag(o.image + ":" + o.version)
	must(t, err)
	r := release{from: source{Version: o.version}, folder: o.output}
	index := readLayout(t, r.path(webhook+"-"+o.version+"-oci.tar"), o.version)
	for _, platform := range o.imagePlatforms {
		t.Run(platform, func(t *testing.T) {
			image, err := tarball.ImageFromPath(r.path(r.imageArchive(platform)), &tag)
			must(t, err)
			if err := validate.Image(image); err != nil {
				t.Error("the tarball:", err)
			}
			_, architecture, _ := strings.Cut(platform, "/")
			if diff := cmp.Diff(config(t, imageOf(t, index, architecture)), config(t, image)); diff != "" {
				t.Errorf("config (-layout +tarball):\n%s", diff)
			}
			checkConfig(t, image, architecture, o.version, git(t, o.source, "rev-parse", "HEAD"))
			binary := checkLayer(t, image, git(t, o.source, "log", "-1", "--format=%ct"))
			checkStatic(t, binary, architecture)
			if runtime.GOOS == "linux" && runtime.GOARCH == architecture {
				checkVersion(t, binary, o.version)
			}
		})
	}
}

// readLayout checks an archive of an OCI layout and the name of its index, and returns the index of all platforms.
func readLayout(t *testing.T, archive, named string) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "-xf", archive, "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	folder, err := layout.ImageIndexFromPath(dir)
	must(t, err)
	manifest, err := folder.IndexManifest()
	must(t, err)
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != named {
		t.Fatalf("want one index with the name %s in the layout, got %v", named, manifest.Manifests)
	}
	index, err := folder.ImageIndex(manifest.Manifests[0].Digest)
	must(t, err)
	if err := validate.Index(index); err != nil {
		t.Error("the index:", err)
	}
	return index
}

// imageOf returns the image for linux/ARCHITECTURE.
func imageOf(t *testing.T, index v1.ImageIndex, architecture string) v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	must(t, err)
	for _, one := range manifest.Manifests {
		if one.Platform.Equals(v1.Platform{OS: "linux", Architecture: architecture}) {
			image, err := index.Image(one.Digest)
			must(t, err)
			return image
		}
	}
	t.Fatalf("the index has no image for linux/%s", architecture)
	return nil
}

func config(t *testing.T, image v1.Image) *v1.ConfigFile {
	t.Helper()
	c, err := image.ConfigFile()
	must(t, err)
	return c
}

// checkConfig checks how the image runs, and its metadata.
func checkConfig(t *testing.T, image v1.Image, architecture, version, revision string) {
	t.Helper()
	c := config(t, image)
	if c.OS != "linux" || c.Architecture != architecture {
		t.Errorf("got platform %s/%s, want linux/%s", c.OS, c.Architecture, architecture)
	}
	history := []v1.History{{Created: c.Created, CreatedBy: "make image, " + compiler(t)}}
	if diff := cmp.Diff(history, c.History); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	want := v1.Config{
		Entrypoint: []string{"/handoff-webhook"}, User: "65532:65532", WorkingDir: "/",
		ExposedPorts: map[string]struct{}{"9443/tcp": {}, "8080/tcp": {}, "8081/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "handoff-webhook",
			"org.opencontainers.image.description": "Keeps fields that autoscalers, controllers and users own when a manifest is applied",
			"org.opencontainers.image.source":      "https://github.com/ownership-handoff/handoff",
			"org.opencontainers.image.version":     version,
			"org.opencontainers.image.revision":    revision,
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
	}
	if diff := cmp.Diff(want, c.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

// checkLayer checks that the only layer has the license and the binary, owned by root, and no other file. It returns the binary.
func checkLayer(t *testing.T, image v1.Image, seconds string) (binary []byte) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("got %d layers, %v; want 1", len(layers), err)
	}
	stream, err := layers[0].Uncompressed()
	must(t, err)
	defer stream.Close() //nolint:errcheck // only read
	type facts struct {
		Mode           int64
		UID, GID       int
		Seconds        string
		Kind           byte
		Uname, Gname   string
		HasExtendedKey bool
	}
	got, content := map[string]facts{}, map[string][]byte{}
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if content[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		got[h.Name] = facts{
			Mode: h.Mode, UID: h.Uid, GID: h.Gid, Seconds: strconv.FormatInt(h.ModTime.Unix(), 10), Kind: h.Typeflag,
			Uname: h.Uname, Gname: h.Gname, HasExtendedKey: len(h.PAXRecords) > 0,
		}
	}
	want := map[string]facts{
		"LICENSE":         {Mode: 0o644, Seconds: seconds, Kind: tar.TypeReg},
		"handoff-webhook": {Mode: 0o755, Seconds: seconds, Kind: tar.TypeReg},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of the layer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(readFile(t, "../..", "LICENSE"), string(content["LICENSE"])); diff != "" {
		t.Errorf("LICENSE (-repository +image):\n%s", diff)
	}
	return content["handoff-webhook"]
}

// checkStatic checks that a program needs no interpreter and no library: the image has none.
func checkStatic(t *testing.T, program []byte, architecture string) {
	t.Helper()
	binary, err := elf.NewFile(bytes.NewReader(program))
	must(t, err)
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[architecture]; binary.Machine != want {
		t.Errorf("got a binary for %s, want %s", binary.Machine, want)
	}
	for _, segment := range binary.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary is not static: it has a segment %s", segment.Type)
		}
	}
}

func checkVersion(t *testing.T, binary []byte, version string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "handoff-webhook")
	must(t, os.WriteFile(program, binary, 0o700))
	said, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput()
	if want := "handoff-webhook " + version + "\n"; err != nil || string(said) != want {
		t.Errorf("--version prints %q, %v; want %q", said, err, want)
	}
}

// checkImageCommand checks what release image writes and prints: the same image as that of the release.
func checkImageCommand(t *testing.T, o options) {
	t.Helper()
	output := filepath.Join(t.TempDir(), "image")
	var printed bytes.Buffer
	err := run(t.Context(), []string{
		"image", "--source=" + o.source, "--version=" + o.version, "--image=" + o.image, "--image-platforms=linux/amd64", "--output=" + output,
	}, &printed)
	must(t, err)
	r := release{from: source{Version: o.version}, folder: o.output}
	released := readLayout(t, r.path(webhook+"-"+o.version+"-oci.tar"), o.version)
	index, err := layout.ImageIndexFromPath(output)
	must(t, err)
	manifest, err := index.IndexManifest()
	must(t, err)
	want := o.image + ":" + o.version + "\n" +
		"index        " + manifest.Manifests[0].Digest.String() + " " + output + "\n" +
		"linux/amd64  " + digest(t, imageOf(t, released, "amd64")) + " " + output + "-amd64.tar\n"
	if diff := cmp.Diff(want, printed.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(readFile(t, o.output, r.imageArchive("linux/amd64")), readFile(t, filepath.Dir(output), "image-amd64.tar")); diff != "" {
		t.Error("the tarball is not that of the release")
	}
}

// TestPush verifies that the registry has all platforms under the tag.
func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	index, err := random.Index(100, 1, 2)
	must(t, err)
	tag, err := name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/handoff-webhook:v1")
	must(t, err)
	var printed bytes.Buffer
	must(t, push(t.Context(), &printed, tag, index))
	if want := "pushed " + tag.Context().Name() + "@" + digest(t, index) + "\n"; printed.String() != want {
		t.Errorf("got output %q, want %q", &printed, want)
	}
	stored, err := remote.Index(tag)
	must(t, err)
	if err := validate.Index(stored); err != nil || digest(t, stored) != digest(t, index) {
		t.Errorf("the registry has another index, or not all of it: %v", err)
	}
}

func digest(t *testing.T, of interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	hash, err := of.Digest()
	must(t, err)
	return hash.String()
}
