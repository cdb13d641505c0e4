package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/uuid"
	"github.com/package-url/packageurl-go"
)

// program is a binary in a file of the release.
type program struct {
	// file contains the program, for platform.
	file, platform string
	name           string
	// digest is that of the image, in the form sha256:…; empty for the plugin.
	digest string
	// modules are those that the program contains, without the main module, and goVersion is that of the standard library.
	modules   []*debug.Module
	goVersion string
}

// sbom is the name of the file that lists the modules of a program.
func (p program) sbom() string { return p.file + ".cdx.json" }

// programs reads the programs from the files of a release, because an SBOM describes what is there, not what should be.
func (r *release) programs() (found []program, err error) {
	for _, platform := range r.imagePlatforms {
		found = append(found, program{file: r.imageArchive(platform), platform: platform, name: webhook})
	}
	for _, platform := range r.platforms {
		found = append(found, program{file: pluginArchive(platform), platform: platform, name: "kubectl-handoff"})
	}
	for i := range found {
		p := &found[i]
		var binary []byte
		if p.name == webhook {
			p.digest, binary, err = readImage(r.path(p.file))
		} else {
			binary, err = findInGzip(r.path(p.file), pluginProgram(p.platform))
		}
		if err != nil {
			return nil, err
		}
		build, err := buildinfo.Read(bytes.NewReader(binary))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.file, err)
		}
		p.goVersion = build.GoVersion
		for _, module := range build.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			p.modules = append(p.modules, module)
		}
	}
	return found, nil
}

// readImage returns the digest of the image in an archive for docker load, and its program.
func readImage(path string) (digest string, binary []byte, err error) {
	packed, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	hash, err := packed.Digest()
	if err != nil {
		return "", nil, err
	}
	files := mutate.Extract(packed)
	defer files.Close() //nolint:errcheck // only read
	if binary, err = find(files, webhook); err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	return hash.String(), binary, nil
}

// writeSBOMs writes a CycloneDX 1.6 document beside each file of the release that contains a program, with the modules that the
// program was linked with (https://cyclonedx.org/docs/1.6/json/).
func (r *release) writeSBOMs(context.Context) error {
	found, err := r.programs()
	if err != nil {
		return err
	}
	for _, p := range found {
		text, err := r.sbomOf(p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
		if err := r.write(p.sbom(), text); err != nil {
			return err
		}
	}
	return nil
}

// sbomOf returns the document about a program.
func (r *release) sbomOf(p program) ([]byte, error) {
	content, err := os.ReadFile(r.path(p.file))
	if err != nil {
		return nil, err
	}
	root := cdx.Component{
		BOMRef: p.file, Type: cdx.ComponentTypeApplication, Name: p.name, Version: r.from.Version,
		Description: p.file + ", for " + p.platform, Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum(content)}},
	}
	if p.digest != "" {
		root.Type = cdx.ComponentTypeContainer
		root.PackageURL = packageurl.NewPackageURL(packageurl.TypeOCI, "", webhook, p.digest,
			packageurl.QualifiersFromMap(map[string]string{"repository_url": r.image, "tag": r.from.Version}), "").ToString()
	}
	parts := make([]cdx.Component, 0, len(p.modules)+1)
	needs := make([]string, 0, cap(parts))
	add := func(name, version, license string) {
		url := packageurl.NewPackageURL(packageurl.TypeGolang, "", name, version, nil, "").ToString()
		part := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: url}
		if license != "" {
			part.Licenses = &cdx.Licenses{{Expression: license}}
		}
		parts, needs = append(parts, part), append(needs, url)
	}
	add("std", p.goVersion, "BSD-3-Clause")
	for _, module := range p.modules {
		add(module.Path, module.Version, r.licenses[module.Path])
	}
	document := cdx.NewBOM()
	// The same release has the same serial number.
	document.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(p.file+"@"+sum(content))).URN()
	// The time of the commit, as of every file of the release.
	document.Metadata = &cdx.Metadata{Timestamp: r.from.Time.Format(time.RFC3339), Component: &root}
	document.Components = &parts
	document.Dependencies = &[]cdx.Dependency{{Ref: root.BOMRef, Dependencies: &needs}}
	var text bytes.Buffer
	err = cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(document, cdx.SpecVersion1_6)
	return text.Bytes(), err
}
