package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
)

// verify checks that the files of a release belong together, and prints what was checked. Its error lists all that is wrong.
func verify(folder string, out io.Writer) error {
	r := &release{folder: folder}
	text, err := os.ReadFile(r.path(provenanceFile))
	if err != nil {
		return fmt.Errorf("not a release: %w", err)
	}
	var s statement
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s: %w", provenanceFile, err)
	}
	with := s.Predicate.BuildDefinition.ExternalParameters
	if with.Version == "" || with.Image == "" || len(with.ImagePlatforms) == 0 {
		return fmt.Errorf("%s: the version, the image or its platforms are missing", provenanceFile)
	}
	r.from.Version, r.image, r.imagePlatforms, r.platforms = with.Version, with.Image, with.ImagePlatforms, with.PluginPlatforms
	var problems []error
	for _, check := range []struct {
		sentence string
		do       func() error
	}{
		{"the checksums cover every file", r.checkSums},
		{"the provenance names every file", func() error { return r.checkSubjects(s.Subject) }},
		{"each SBOM lists the modules of its program", r.checkSBOMs},
		{"the kustomizations use the image of the release", r.checkKustomizations},
		{"the chart has the version of the release", r.checkChart},
		{"the krew manifest has the digests of the archives", r.checkKrew},
	} {
		if err := check.do(); err != nil {
			problems = append(problems, err)
			continue
		}
		fmt.Fprintln(out, "ok:", check.sentence)
	}
	return errors.Join(problems...)
}

func (r *release) checkSums() error {
	want, err := r.sums()
	if err != nil {
		return err
	}
	got, err := os.ReadFile(r.path(sumsFile))
	if err != nil {
		return err
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		return fmt.Errorf("%s differs from the files (-files +%s):\n%s", sumsFile, sumsFile, diff)
	}
	return nil
}

func (r *release) checkSubjects(named []resource) error {
	files, err := r.digests(provenanceFile, sumsFile)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(files, named); diff != "" {
		return fmt.Errorf("%s differs from the files (-files +provenance):\n%s", provenanceFile, diff)
	}
	return nil
}

func (r *release) checkSBOMs() error {
	found, err := r.programs()
	if err != nil {
		return err
	}
	for _, p := range found {
		file, err := os.ReadFile(r.path(p.sbom()))
		if err != nil {
			return err
		}
		document := &cdx.BOM{}
		if err := cdx.NewBOMDecoder(bytes.NewReader(file), cdx.BOMFileFormatJSON).Decode(document); err != nil {
			return fmt.Errorf("%s: %w", p.sbom(), err)
		}
		listed := map[string]string{}
		for _, part := range *document.Components {
			listed[part.Name] = part.Version
		}
		linked := map[string]string{"std": p.goVersion}
		for _, module := range p.modules {
			linked[module.Path] = module.Version
		}
		if diff := cmp.Diff(linked, listed); diff != "" {
			return fmt.Errorf("%s differs from %s (-program +SBOM):\n%s", p.sbom(), p.file, diff)
		}
	}
	return nil
}

func (r *release) checkKustomizations() error {
	image := regexp.MustCompile(`(?m)^\s*(?:- )?image: (\S+)$`)
	want := []string{r.image + ":" + r.from.Version}
	for _, folder := range kustomizations {
		text, err := os.ReadFile(r.path(renderedAs(folder)))
		if err != nil {
			return err
		}
		used := map[string]bool{}
		for _, match := range image.FindAllSubmatch(text, -1) {
			used[string(match[1])] = true
		}
		if got := slices.Sorted(maps.Keys(used)); len(got) > 0 && !slices.Equal(got, want) {
			return fmt.Errorf("%s: uses the images %q, want %q", renderedAs(folder), got, want)
		}
	}
	return nil
}

func (r *release) checkChart() error {
	text, err := findInGzip(r.path(r.chartArchive()), "handoff/Chart.yaml")
	if err != nil {
		return err
	}
	if !bytes.Equal(text, setVersion(text, r.from.Version)) {
		return fmt.Errorf("%s: version or appVersion is not %s", r.chartArchive(), r.from.Version)
	}
	return nil
}

func (r *release) checkKrew() error {
	manifest, err := os.ReadFile(r.path(krewManifest))
	if err != nil {
		return err
	}
	for _, platform := range r.platforms {
		content, err := os.ReadFile(r.path(pluginArchive(platform)))
		if err != nil {
			return err
		}
		want := fmt.Sprintf("%s/releases/download/%s/%s\n    sha256: %s\n", repository, r.from.Version, pluginArchive(platform), sum(content))
		if !strings.Contains(string(manifest), want) {
			return fmt.Errorf("%s: lacks the URL and the digest of %s", krewManifest, pluginArchive(platform))
		}
	}
	return nil
}
