package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/ownership-handoff/handoff/hack/image"
)

// webhook is the name of the webhook's program, and of the files with its image.
const webhook = "handoff-webhook"

// imageArchive is the name of the file with the image of one platform, for docker load.
func imageArchive(version, platform string) string {
	return fmt.Sprintf("%s-%s-%s.tar", webhook, version, strings.ReplaceAll(platform, "/", "-"))
}

// imageLayout is the name of the file with the image of all platforms, an archive of an OCI layout.
func imageLayout(version string) string { return fmt.Sprintf("%s-%s-oci.tar", webhook, version) }

// buildImage builds the image for all platforms.
func buildImage(ctx context.Context, r *release) error {
	layout, err := filepath.Abs(filepath.Join(r.scratch, "image"))
	if err != nil {
		return err
	}
	err = image.Run(ctx, []string{
		"--source=" + r.from.Root, "--version=" + r.from.Version, "--repository=" + r.image,
		"--platforms=" + strings.Join(r.imagePlatforms, ","), "--output=" + layout,
	}, io.Discard)
	if err != nil {
		return err
	}
	for _, platform := range r.imagePlatforms {
		_, architecture, _ := strings.Cut(platform, "/")
		if err := os.Rename(layout+"-"+architecture+".tar", r.path(imageArchive(r.from.Version, platform))); err != nil {
			return err
		}
	}
	members, err := membersOf(layout, "")
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := image.WriteTar(&archive, r.from.Time, members); err != nil {
		return err
	}
	return r.write(imageLayout(r.from.Version), archive.Bytes())
}

// readImage returns the digest of the image in an archive for docker load, and its program.
func readImage(path string) (digest v1.Hash, program []byte, err error) {
	packed, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		return digest, nil, fmt.Errorf("%s: %w", path, err)
	}
	if digest, err = packed.Digest(); err != nil {
		return digest, nil, err
	}
	files := mutate.Extract(packed)
	defer files.Close() //nolint:errcheck // only read
	program, err = find(files, webhook)
	if err != nil {
		return digest, nil, fmt.Errorf("%s: %w", path, err)
	}
	return digest, program, nil
}
