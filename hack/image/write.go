package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// replaceable returns an error if the output exists and is not an OCI layout: the program only removes what it has written.
func replaceable(output string) error {
	if _, err := os.Lstat(output); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(output, "oci-layout")); err != nil {
		return fmt.Errorf("--output=%s exists and is not an OCI layout; choose another path: %w", output, err)
	}
	return nil
}

// archive returns the path of a platform's tarball.
func archive(output string, platform v1.Platform) string {
	return output + "-" + platform.Architecture + ".tar"
}

// write writes the layout and the tarballs, and moves them into place once all of them are complete.
func write(output string, tag name.Tag, index v1.ImageIndex, images []built) (err error) {
	output = filepath.Clean(output)
	parent := filepath.Dir(output)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	unfinished, err := os.MkdirTemp(parent, ".image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(unfinished)) }()

	made := filepath.Join(unfinished, filepath.Base(output))
	folder, err := layout.Write(made, empty.Index)
	if err != nil {
		return fmt.Errorf("layout: %w", err)
	}
	named := map[string]string{"org.opencontainers.image.ref.name": tag.TagStr()}
	if err := folder.AppendIndex(index, layout.WithAnnotations(named)); err != nil {
		return fmt.Errorf("layout: %w", err)
	}
	for _, one := range images {
		path := archive(made, one.platform)
		if err := tarball.WriteToFile(path, tag, one.image); err != nil {
			return fmt.Errorf("tarball of %s: %w", one.platform, err)
		}
		if err := os.Rename(path, archive(output, one.platform)); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(output); err != nil {
		return err
	}
	return os.Rename(made, output)
}

// report prints the digests. A Deployment should use that of the index.
func report(out io.Writer, output string, tag name.Tag, index v1.ImageIndex, images []built) error {
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, tag)
	fmt.Fprintf(out, "%-12s %s %s\n", "index", digest, output)
	for _, one := range images {
		digest, err := one.image.Digest()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-12s %s %s\n", one.platform, digest, archive(output, one.platform))
	}
	return nil
}

// push pushes all platforms to the tag's registry.
func push(ctx context.Context, out io.Writer, tag name.Tag, index v1.ImageIndex) error {
	err := remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return fmt.Errorf("push %s: %w", tag, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "pushed", tag.Digest(digest.String()))
	return nil
}
