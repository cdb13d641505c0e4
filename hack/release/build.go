package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/ownership-handoff/handoff/hack/image"
)

// A version of Semantic Versioning 2.0.0, with a v and without build metadata, which a tag of an image cannot contain.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// release is what the steps of a build share.
type release struct {
	from                      image.Source // a commit, whose time is that of every file in every archive
	image                     string       // without tag
	imagePlatforms, platforms []string

	folder  string // where the files are written, until the release is complete
	scratch string
}

// path returns the path of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.folder, name) }

// write writes a file of the release.
func (r *release) write(name string, content []byte) error {
	return os.WriteFile(r.path(name), content, 0o644)
}

// steps are what a release consists of, in this order: the last ones describe the files of the others.
func steps() []struct {
	name string
	do   func(context.Context, *release) error
} {
	return []struct {
		name string
		do   func(context.Context, *release) error
	}{
		{"the image", buildImage},
		{"the chart", packChart},
		{"the kustomizations", renderKustomizations},
		{"the plugin", buildPlugin},
		{"the licenses of dependencies", listLicenses},
		{"the SBOMs", writeSBOMs},
		{"the release notes", writeNotes},
		{"the provenance", writeProvenance},
		{"the checksums", writeSums},
	}
}

// build builds a release. The folder appears only when the release is complete.
func build(ctx context.Context, o options, progress io.Writer) (err error) {
	if !semantic.MatchString(o.version) {
		return fmt.Errorf("--version=%q: want a tag such as v0.1.0", o.version)
	}
	if o.output == "" {
		o.output = filepath.Join("bin", "release", o.version)
	}
	if _, err := os.Lstat(o.output); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--output=%s: exists already; remove it or name another folder", o.output)
	}
	from, err := committed(ctx, o)
	if err != nil {
		return err
	}
	r := &release{from: from, image: o.image, imagePlatforms: o.imagePlatforms, platforms: o.platforms}
	parent := filepath.Dir(filepath.Clean(o.output))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	if r.scratch, err = os.MkdirTemp(parent, ".release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.scratch)) }()
	r.folder = filepath.Join(r.scratch, "release")
	if err := os.Mkdir(r.folder, 0o755); err != nil {
		return err
	}
	for _, step := range steps() {
		began := time.Now()
		if err := step.do(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(progress, "release: built %s in %v\n", step.name, time.Since(began).Round(time.Second))
	}
	return os.Rename(r.folder, o.output)
}

// committed returns the source of a release. A change that is not committed is an error.
func committed(ctx context.Context, o options) (image.Source, error) {
	from, err := image.Look(ctx, o.source, o.version)
	if err != nil {
		return from, err
	}
	changed, err := from.Output(ctx, "git", "status", "--porcelain")
	if err == nil && changed != "" {
		err = fmt.Errorf("--source=%s: a release is built from a commit, but there are uncommitted changes:\n%s", o.source, changed)
	}
	return from, err
}
