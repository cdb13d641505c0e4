package image

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// file is a file of the layer.
type file struct {
	header  *tar.Header
	content []byte
}

// layerFiles are the files of an image's only layer, by their names.
func layerFiles(t *testing.T, image v1.Image) map[string]file {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 1 {
		t.Fatalf("got %d layers, want 1", len(layers))
	}
	stream, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	}()
	files := map[string]file{}
	for r := tar.NewReader(stream); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = file{header: header, content: content}
	}
}

// checkLayer checks that the layer has the static binary and the license, owned by root, and no other file.
func checkLayer(t *testing.T, image v1.Image, architecture, seconds string) {
	t.Helper()
	files := layerFiles(t, image)
	type facts struct {
		Mode           int64
		UID, GID       int
		Seconds        string
		Kind           byte
		Uname, Gname   string
		HasExtendedKey bool
	}
	got := map[string]facts{}
	for name, f := range files {
		h := f.header
		got[name] = facts{
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
	if !bytes.Equal(files["LICENSE"].content, read(t, "../../LICENSE")) {
		t.Error("LICENSE is not the repository's")
	}
	checkStatic(t, files["handoff-webhook"].content, architecture)
}

// checkStatic checks that a program needs no interpreter and no library: the image has none.
func checkStatic(t *testing.T, program []byte, architecture string) {
	t.Helper()
	binary, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[architecture]; binary.Machine != want {
		t.Errorf("got a binary for %s, want %s", binary.Machine, want)
	}
	for _, segment := range binary.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary is not static: it has a segment %s", segment.Type)
		}
	}
}

func config(t *testing.T, image v1.Image) *v1.ConfigFile {
	t.Helper()
	c, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
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
