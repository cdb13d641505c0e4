package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
	"github.com/package-url/packageurl-go"
)

// writeSBOMs writes a CycloneDX 1.6 document beside each file of the release that contains a program, with the modules that the
// program was linked with (https://cyclonedx.org/docs/1.6/json/).
func writeSBOMs(_ context.Context, r *release) error {
	found, err := programs(r.path, r.from.Version, r.imagePlatforms, r.platforms)
	if err != nil {
		return err
	}
	licenses, err := readLicenses(r.path(licenseList))
	if err != nil {
		return err
	}
	for _, p := range found {
		text, err := r.sbomOf(p, licenses)
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
func (r *release) sbomOf(p program, licenses map[string]string) ([]byte, error) {
	content, err := os.ReadFile(r.path(p.file))
	if err != nil {
		return nil, err
	}
	root := cdx.Component{
		BOMRef: p.file, Type: cdx.ComponentTypeApplication, Name: p.name, Version: r.from.Version,
		Description: p.file + ", for " + p.platform, Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum(content))}},
	}
	if p.digest != "" {
		root.Type = cdx.ComponentTypeContainer
		root.PackageURL = packageurl.NewPackageURL(packageurl.TypeOCI, "", webhook, p.digest,
			packageurl.QualifiersFromMap(map[string]string{"repository_url": r.image, "tag": r.from.Version}), "").ToString()
	}
	parts := make([]cdx.Component, 0, len(p.build.Deps)+1)
	needs := make([]string, 0, cap(parts))
	add := func(name, version, license string) {
		url := packageurl.NewPackageURL(packageurl.TypeGolang, "", name, version, nil, "").ToString()
		part := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: url}
		if license != "" {
			part.Licenses = &cdx.Licenses{{Expression: license}}
		}
		parts, needs = append(parts, part), append(needs, url)
	}
	add("std", p.build.GoVersion, "BSD-3-Clause")
	for _, module := range p.modules() {
		add(module.Path, module.Version, licenses[module.Path])
	}
	document := cdx.NewBOM()
	// The same release has the same serial number.
	document.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, append([]byte(p.file+"@"), sum(content)...)).URN()
	// The time of the commit, as of every file of the release.
	document.Metadata = &cdx.Metadata{Timestamp: r.from.Time.Format(time.RFC3339), Component: &root}
	document.Components = &parts
	document.Dependencies = &[]cdx.Dependency{{Ref: root.BOMRef, Dependencies: &needs}}
	var text bytes.Buffer
	err = cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(document, cdx.SpecVersion1_6)
	return text.Bytes(), err
}
