package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// verify checks that the files of a release belong together, and prints what was checked. Its error lists all that is wrong.
func verify(folder string, out io.Writer) error {
	text, err := os.ReadFile(filepath.Join(folder, provenanceFile))
	if err != nil {
		return fmt.Errorf("not a release: %w", err)
	}
	statement := &intoto.Statement{}
	if err := protojson.Unmarshal(text, statement); err != nil {
		return fmt.Errorf("%s: %w", provenanceFile, err)
	}
	v := &verification{folder: folder, statement: statement}
	if err := v.readParameters(); err != nil {
		return fmt.Errorf("%s: %w", provenanceFile, err)
	}
	var problems []error
	for _, check := range []struct {
		sentence string
		do       func() error
	}{
		{"the checksums cover every file", v.checkSums},
		{"the provenance names every file", v.checkSubjects},
		{"each SBOM lists the modules of its program", v.checkSBOMs},
		{"the kustomizations use the image of the release", v.checkImages},
		{"the chart has the version of the release", v.checkChart},
		{"the krew manifest has the digests of the archives", v.checkKrew},
	} {
		if err := check.do(); err != nil {
			problems = append(problems, err)
			continue
		}
		fmt.Fprintln(out, "ok:", check.sentence)
	}
	return errors.Join(problems...)
}

// verification is a folder to verify, with what its provenance says about it.
type verification struct {
	folder                    string
	statement                 *intoto.Statement
	version, image            string
	imagePlatforms, platforms []string
}

func (v *verification) path(name string) string { return filepath.Join(v.folder, name) }

func (v *verification) readParameters() error {
	definition := v.statement.GetPredicate().GetFields()["buildDefinition"].GetStructValue().GetFields()
	parameters := definition["externalParameters"].GetStructValue().GetFields()
	v.version, v.image = parameters["version"].GetStringValue(), parameters["image"].GetStringValue()
	for name, list := range map[string]*[]string{"imagePlatforms": &v.imagePlatforms, "pluginPlatforms": &v.platforms} {
		for _, value := range parameters[name].GetListValue().GetValues() {
			*list = append(*list, value.GetStringValue())
		}
	}
	if v.version == "" || v.image == "" || len(v.imagePlatforms) == 0 {
		return errors.New("the version, the image or its platforms are missing")
	}
	return nil
}

func (v *verification) checkSums() error {
	want, err := sumsOf(v.folder)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(v.path(sumsFile))
	if err != nil {
		return err
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		return fmt.Errorf("%s differs from the files (-files +%s):\n%s", sumsFile, sumsFile, diff)
	}
	return nil
}

func (v *verification) checkSubjects() error {
	files, err := subjectsOf(v.folder)
	if err != nil {
		return err
	}
	digests := func(list []*intoto.ResourceDescriptor) map[string]string {
		found := map[string]string{}
		for _, subject := range list {
			found[subject.GetName()] = subject.GetDigest()["sha256"]
		}
		return found
	}
	if diff := cmp.Diff(digests(files), digests(v.statement.GetSubject())); diff != "" {
		return fmt.Errorf("%s differs from the files (-files +provenance):\n%s", provenanceFile, diff)
	}
	return nil
}

func (v *verification) checkSBOMs() error {
	found, err := programs(v.path, v.version, v.imagePlatforms, v.platforms)
	if err != nil {
		return err
	}
	for _, p := range found {
		file, err := os.ReadFile(v.path(p.sbom()))
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
		linked := map[string]string{"std": p.build.GoVersion}
		for _, module := range p.modules() {
			linked[module.Path] = module.Version
		}
		if diff := cmp.Diff(linked, listed); diff != "" {
			return fmt.Errorf("%s differs from %s (-program +SBOM):\n%s", p.sbom(), p.file, diff)
		}
	}
	return nil
}

func (v *verification) checkImages() error {
	image := regexp.MustCompile(`(?m)^\s*(?:- )?image: (\S+)$`)
	want := []string{v.image + ":" + v.version}
	for _, k := range kustomizations() {
		text, err := os.ReadFile(v.path(k.file()))
		if err != nil {
			return err
		}
		used := map[string]bool{}
		for _, match := range image.FindAllSubmatch(text, -1) {
			used[string(match[1])] = true
		}
		if got := slices.Sorted(maps.Keys(used)); len(got) > 0 && !slices.Equal(got, want) {
			return fmt.Errorf("%s: uses the images %q, want %q", k.file(), got, want)
		}
	}
	return nil
}

func (v *verification) checkChart() error {
	text, err := findInGzip(v.path(chartArchive(v.version)), "handoff/Chart.yaml")
	if err != nil {
		return err
	}
	if !bytes.Equal(text, setVersion(text, v.version)) {
		return fmt.Errorf("%s: version or appVersion is not %s", chartArchive(v.version), v.version)
	}
	return nil
}

func (v *verification) checkKrew() error {
	manifest, err := os.ReadFile(v.path(krewManifest))
	if err != nil {
		return err
	}
	for _, platform := range v.platforms {
		content, err := os.ReadFile(v.path(pluginArchive(platform)))
		if err != nil {
			return err
		}
		want := fmt.Sprintf("%s/releases/download/%s/%s\n    sha256: %x\n",
			repository, v.version, pluginArchive(platform), sum(content))
		if !strings.Contains(string(manifest), want) {
			return fmt.Errorf("%s: lacks the URL and the digest of %s", krewManifest, pluginArchive(platform))
		}
	}
	return nil
}
