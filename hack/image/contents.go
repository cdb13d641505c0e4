package image

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
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// entrypoint is the binary's path in the image, without the leading slash.
const entrypoint = "handoff-webhook"

// Compile returns the static binary of a program in the folder cmd. It does not depend on the folder and the machine on which it is
// built.
func Compile(ctx context.Context, from Source, program string, platform v1.Platform) (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if failed := os.RemoveAll(dir); err == nil {
			err = failed
		}
	}()
	target := filepath.Join(dir, program)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X main.version="+from.Version, "-o", target, "./cmd/"+program)
	cmd.Dir = from.Root
	cmd.Env = append(os.Environ(), "GOOS="+platform.OS, "GOARCH="+platform.Architecture, "CGO_ENABLED=0",
		// Override the user's settings, which would change the binary. GOFLAGS repeats a flag, because go treats an empty
		// variable as one that is not set, and reads it from the user's configuration file.
		"GOFLAGS=-trimpath", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GOEXPERIMENT=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build in %s: %w", from.Root, err)
	}
	return os.ReadFile(target)
}

// pack returns the only layer. It needs no CA certificates: the webhook connects only to the API server, whose CA is mounted with
// the service account.
func pack(from Source, binary []byte) (v1.Layer, error) {
	license, err := os.ReadFile(filepath.Join(from.Root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	// Nobody but root may change the binary: user 65532 can run it.
	err = WriteTar(&archive, from.Time, []Member{
		{Name: "LICENSE", Mode: 0o644, Content: license}, {Name: entrypoint, Mode: 0o755, Content: binary},
	})
	if err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer))
}

// Member is a file of a tar archive.
type Member struct {
	Name    string
	Mode    int64
	Content []byte
}

// WriteTar writes an archive of files with one time, all owned by root, by number and without a name: the same members give the
// same archive.
func WriteTar(w io.Writer, at time.Time, members []Member) error {
	archive := tar.NewWriter(w)
	for _, m := range members {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: m.Name, Mode: m.Mode, Size: int64(len(m.Content)), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(m.Content); err != nil {
			return err
		}
	}
	return archive.Close()
}
