package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRelease builds the last commit twice, in two folders, and changes what it has built in each way that verify must find.
// It takes minutes: every file of a release is built.
func TestRelease(t *testing.T) {
	o := func() options {
		source := cloneOf(t, filepath.Join("..", ".."))
		return options{
			version: "v0.1.0", source: source, output: filepath.Join(t.TempDir(), "v0.1.0"), image: "registry.invalid/handoff-webhook",
			imagePlatforms: []string{"linux/amd64", "linux/arm64"}, platforms: []string{"linux/amd64", "windows/amd64"},
		}
	}
	setEpoch(t, "")
	first, second := o(), o()
	must(t, build(t.Context(), first, t.Output()))
	t.Run("another clone gives the same files, whatever its user has set", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-tags=netgo -ldflags=-linkmode=internal")
		t.Setenv("GOAMD64", "v3")
		t.Setenv("CGO_ENABLED", "1")
		t.Setenv("TZ", "Pacific/Auckland")
		must(t, build(t.Context(), second, t.Output()))
	})
	if diff := cmp.Diff(readFile(t, first.output, sumsFile), readFile(t, second.output, sumsFile)); diff != "" {
		t.Errorf("two builds of one commit differ (-first +second):\n%s", diff)
	}
	if err := verify(first.output, t.Output()); err != nil {
		t.Errorf("verify: %v", err)
	}
	t.Run("verify finds each change", func(t *testing.T) { verifyFindsChanges(t, first) })
	t.Run("the images", func(t *testing.T) { checkImages(t, first) })
	t.Run("release image", func(t *testing.T) { checkImageCommand(t, first) })
	t.Run("the chart is what Helm packs", func(t *testing.T) { helmReadsTheChart(t, first) })
	if err := build(t.Context(), first, io.Discard); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a second build into the same folder: got %v", err)
	}
}

// verifyFindsChanges changes one file at a time, with the checksums of the changed files, so that only the check of its content
// can find it; and restores it.
func verifyFindsChanges(t *testing.T, o options) {
	t.Helper()
	replace := func(name, old, with string) func() error {
		return func() error {
			path := filepath.Join(o.output, name)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if !bytes.Contains(text, []byte(old)) {
				return errors.New("no " + old + " in " + name)
			}
			return os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(with), 1), 0o600)
		}
	}
	r := &release{from: source{Version: o.version}, folder: o.output}
	sbom := r.imageArchive("linux/amd64") + ".cdx.json"
	for sentence, c := range map[string]struct {
		change func() error
		resum  bool
		want   string
	}{
		"a changed file":                   {replace(notesFile, "# handoff", "# Handoff"), false, sumsFile + " differs"},
		"a changed file with its checksum": {replace(notesFile, "# handoff", "# Handoff"), true, provenanceFile + " differs"},
		"a removed file":                   {func() error { return os.Remove(filepath.Join(o.output, licenseList)) }, true, provenanceFile + " differs"},
		"an added file": {func() error {
			return os.WriteFile(filepath.Join(o.output, "extra"), nil, 0o600)
		}, true, provenanceFile + " differs"},
		"an SBOM without a module":            {replace(sbom, `"name": "k8s.io/api"`, `"name": "k8s.io/other"`), true, sbom + " differs"},
		"a kustomization with another image":  {replace("handoff-default.yaml", o.image+":v0.1.0", o.image+":v0.1.1"), true, "uses the images"},
		"a krew manifest with another digest": {replace(krewManifest, "sha256: ", "sha256: 0"), true, "lacks the URL and the digest"},
	} {
		t.Run(sentence, func(t *testing.T) {
			backup := t.TempDir()
			must(t, os.CopyFS(backup, os.DirFS(o.output)))
			defer func() {
				must(t, errors.Join(os.RemoveAll(o.output), os.CopyFS(o.output, os.DirFS(backup))))
			}()
			must(t, c.change())
			if c.resum {
				must(t, r.writeSums(t.Context()))
			}
			if err := verify(o.output, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}

// helmReadsTheChart compares what Helm renders from the archive with what it renders from the source.
func helmReadsTheChart(t *testing.T, o options) {
	t.Helper()
	helm := filepath.Join("..", "..", "bin", "helm")
	render := func(args ...string) string {
		args = append([]string{"template", "handoff", "--namespace", "handoff-system", "--kube-version", "1.36.0", "--set", "guard.enabled=true"}, args...)
		out, err := exec.CommandContext(t.Context(), helm, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("helm %v (make bin/helm builds it): %v\n%s", args, err, out)
		}
		return strings.ReplaceAll(string(out), "handoff-"+strings.TrimPrefix(o.version, "v"), "handoff-VERSION")
	}
	released := render(filepath.Join(o.output, "handoff-0.1.0.tgz"))
	if diff := cmp.Diff(render(filepath.Join(o.source, "manifests", "chart"), "--set", "image.tag="+o.version), released); diff != "" {
		t.Errorf("the chart of the release renders differently (-source +release):\n%s", diff)
	}
}

func TestWhatCannotBeReleasedIsRefused(t *testing.T) {
	clean := cloneOf(t, filepath.Join("..", ".."))
	changed := cloneOf(t, filepath.Join("..", ".."))
	must(t, os.WriteFile(filepath.Join(changed, "new"), nil, 0o600))
	for sentence, c := range map[string]struct {
		o    options
		want string
	}{
		"no version":                     {options{source: clean}, "--version"},
		"a version without a v":          {options{source: clean, version: "0.1.0"}, "--version"},
		"a version with build metadata":  {options{source: clean, version: "v0.1.0+1"}, "--version"},
		"a source that is not a clone":   {options{source: t.TempDir(), version: "v0.1.0"}, "is not a Go module"},
		"a source with another new file": {options{source: changed, version: "v0.1.0"}, "uncommitted changes"},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.o.output = filepath.Join(t.TempDir(), "release")
			if err := build(t.Context(), c.o, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
			if _, err := os.Stat(c.o.output); err == nil {
				t.Error("want no folder after an error")
			}
		})
	}
}

func TestTheNotesAreTheSectionOfTheVersion(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [0.2.0] - 2026-12-01\n\n- two\n\n### Fixed\n\n- a\n\n## [0.1.0]\n\n- one\n"
	for version, want := range map[string]string{
		"v0.2.0": "- two\n\n### Fixed\n\n- a", "v0.1.0": "- one", "v0.3.0": "- new",
	} {
		got, err := section(changelog, version)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", version, err, diff)
		}
	}
	if got, err := section("# Changelog\n", "v0.1.0"); err == nil {
		t.Errorf("no section: want an error, got %q", got)
	}
}

func TestLicensesAreJudged(t *testing.T) {
	identify, err := identifier()
	must(t, err)
	apache := readFile(t, filepath.Join("..", ".."), "LICENSE")
	const gpl = "GNU GENERAL PUBLIC LICENSE Version 2, June 1991"
	for sentence, c := range map[string]struct{ name, text, want, problem string }{
		"an accepted license":   {"LICENSE", apache, "Apache-2.0", ""},
		"under another name":    {"COPYING.txt", apache, "Apache-2.0", ""},
		"no file":               {"README", apache, "", "no license was recognized"},
		"a text of its own":     {"LICENSE", "You may use this on Tuesdays.", "", "no license was recognized"},
		"one that is not ours":  {"LICENSE", gpl, "", ""},
		"names are not trusted": {"LICENSE", "Apache License", "", "no license was recognized"},
	} {
		t.Run(sentence, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o600))
			got, err := identify(dir)
			if got != c.want || (c.want == "") == (err == nil) || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.problem)
			}
		})
	}
	if _, err := judge([]string{"GPL-2.0", "MIT"}); err == nil || !strings.Contains(err.Error(), "GPL-2.0") {
		t.Errorf("a license that is not accepted: got %v", err)
	}
}

// cloneOf clones a repository.
func cloneOf(t *testing.T, repository string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "source")
	git(t, ".", "clone", "--quiet", repository, dir)
	return dir
}

func readFile(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	must(t, err)
	return string(text)
}
