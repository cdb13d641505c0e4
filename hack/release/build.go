package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A version of Semantic Versioning 2.0.0, with a v and without build metadata, which a tag of an image cannot contain.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// release is what the steps of a build share.
type release struct {
	version, source, image    string
	imagePlatforms, platforms []string

	commit   string
	time     time.Time // the commit's: the time of every file in every archive
	compiler string    // the version of Go
	folder   string    // where the files are written, until the release is complete
	scratch  string
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
	r := &release{
		version: o.version, source: o.source, image: o.image, imagePlatforms: o.imagePlatforms, platforms: o.platforms,
	}
	if err := r.look(ctx); err != nil {
		return err
	}
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

// look reads the version and the commit of the source. A change that is not committed is an error.
func (r *release) look(ctx context.Context) error {
	changed, err := r.output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("--source=%s: a release is built from a commit, but there are uncommitted changes:\n%s", r.source, changed)
	}
	text, err := r.output(ctx, "git", "log", "-1", "--no-show-signature", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, seconds, _ := strings.Cut(text, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("the time of commit %s: %w", commit, err)
	}
	r.commit, r.time = commit, time.Unix(at, 0).UTC()
	r.compiler, err = r.output(ctx, "go", "env", "GOVERSION")
	return err
}

// output returns what a command prints in the source's folder, without the last line break.
func (r *release) output(ctx context.Context, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = r.source
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s in %s: %w: %s", strings.Join(command, " "), r.source, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(printed)), nil
}
