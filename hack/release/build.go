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
	"strings"
	"time"
)

// A version of Semantic Versioning 2.0.0, with a v and without build metadata, which a tag of an image cannot contain.
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// release is what the steps of a build share, and what verify reads from the provenance.
type release struct {
	from                      source // a commit, whose time is that of every file in every archive
	image                     string // without tag
	imagePlatforms, platforms []string
	licenses                  map[string]string // by module

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
var steps = []struct {
	name string
	do   func(*release, context.Context) error
}{
	{"the image", (*release).buildImage},
	{"the chart", (*release).packChart},
	{"the kustomizations", (*release).renderKustomizations},
	{"the plugin", (*release).buildPlugin},
	{"the licenses of dependencies", (*release).listLicenses},
	{"the SBOMs", (*release).writeSBOMs},
	{"the release notes", (*release).writeNotes},
	{"the provenance", (*release).writeProvenance},
	{"the checksums", (*release).writeSums},
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
	for _, step := range steps {
		began := time.Now()
		if err := step.do(r, ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(progress, "release: built %s in %v\n", step.name, time.Since(began).Round(time.Second))
	}
	return os.Rename(r.folder, o.output)
}

// committed returns the source of a release. A change that is not committed is an error.
func committed(ctx context.Context, o options) (source, error) {
	from, err := look(ctx, o.source, o.version)
	if err != nil {
		return from, err
	}
	changed, err := from.output(ctx, "git", "status", "--porcelain")
	if err == nil && changed != "" {
		err = fmt.Errorf("--source=%s: a release is built from a commit, but there are uncommitted changes:\n%s", o.source, changed)
	}
	return from, err
}

// imageArchive is the name of the file with the image of one platform, for docker load.
func (r *release) imageArchive(platform string) string {
	return fmt.Sprintf("%s-%s-%s.tar", webhook, r.from.Version, strings.ReplaceAll(platform, "/", "-"))
}

// buildImage builds the image for all platforms: an archive for each, and one with the OCI layout of all.
func (r *release) buildImage(ctx context.Context) error {
	layout := filepath.Join(r.scratch, "image")
	if err := makeImage(ctx, r.from, options{output: layout, image: r.image, imagePlatforms: r.imagePlatforms}, io.Discard); err != nil {
		return err
	}
	for _, platform := range r.imagePlatforms {
		if err := os.Rename(tarballOf(layout, strings.TrimPrefix(platform, "linux/")), r.path(r.imageArchive(platform))); err != nil {
			return err
		}
	}
	members, err := membersOf(layout, "")
	if err != nil {
		return err
	}
	file, err := os.Create(r.path(webhook + "-" + r.from.Version + "-oci.tar"))
	if err != nil {
		return err
	}
	return errors.Join(writeTar(file, r.from.Time, members), file.Close())
}

const notes = `# handoff %[1]s

## Install

    kubectl apply -f handoff-default.yaml

or, with Helm:

    helm install handoff %[2]s -n handoff-system --create-namespace

Without access to the registry, load the image first: docker load --input %[3]s

## Verify

    sha256sum --check %[4]s

provenance.intoto.json names the commit, %[5]s, and the version of Go, %[6]s, with which the same files can be built again:

    git checkout %[1]s && GOTOOLCHAIN=%[6]s make release VERSION=%[1]s

## Changes

%[7]s
`

// notesFile is the name of the file with the release notes.
const notesFile = "RELEASE_NOTES.md"

// writeNotes writes the release's section of the changelog, with how to install and verify the release.
func (r *release) writeNotes(context.Context) error {
	changelog, err := r.from.file("CHANGELOG.md")
	if err != nil {
		return err
	}
	changes, err := section(string(changelog), r.from.Version)
	if err != nil {
		return err
	}
	return r.write(notesFile, fmt.Appendf(nil, notes, r.from.Version, r.chartArchive(), r.imageArchive(r.imagePlatforms[0]), sumsFile,
		r.from.Revision, r.from.Compiler, changes))
}

// section returns a version's section of a changelog, or else that of the changes without a release.
func section(changelog, version string) (string, error) {
	for _, title := range []string{"## [" + strings.TrimPrefix(version, "v") + "]", "## [Unreleased]"} {
		_, after, found := strings.Cut(changelog, "\n"+title)
		if !found {
			continue
		}
		_, after, _ = strings.Cut(after, "\n") // the date
		text, _, _ := strings.Cut(after, "\n## ")
		return strings.TrimSpace(text), nil
	}
	return "", fmt.Errorf("CHANGELOG.md: neither a section %s nor one of unreleased changes", version)
}
