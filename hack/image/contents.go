package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entrypoint is the binary's path in the image, without the leading slash.
const entrypoint = "handoff-webhook"

// compile returns the static binary. It does not depend on the folder and the machine on which it is built.
func compile(ctx context.Context, from source, platform v1.Platform) (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := os.RemoveAll(dir); err == nil {
			err = failed
		}
	}()
	target := filepath.Join(dir, entrypoint)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X main.version="+from.version, "-o", target, "./cmd/handoff-webhook")
	cmd.Dir = from.root
	cmd.Env = append(os.Environ(), "GOOS="+platform.OS, "GOARCH="+platform.Architecture, "CGO_ENABLED=0",
		// Override the user's settings, which would change the binary. GOFLAGS repeats a flag, because go treats an empty
		// variable as one that is not set, and reads it from the user's configuration file.
		"GOFLAGS=-trimpath", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GOEXPERIMENT=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build in %s: %w", from.root, err)
	}
	return os.ReadFile(target)
}

// pack returns the only layer. It needs no CA certificates: the webhook connects only to the API server, whose CA is mounted with
// the service account.
func pack(from source, binary []byte) (v1.Layer, error) {
	license, err := os.ReadFile(filepath.Join(from.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, file := range []struct {
		name    string
		mode    int64
		content []byte
	}{{"LICENSE", 0o644, license}, {entrypoint, 0o755, binary}} {
		// Root owns the files, by number and without a name: user 65532 can run the binary but not change it.
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: file.name, Mode: file.mode, Size: int64(len(file.content)),
			ModTime: from.time, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("layer: %w", err)
		}
		if _, err := w.Write(file.content); err != nil {
			return nil, fmt.Errorf("layer: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
}
