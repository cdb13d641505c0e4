package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	// provenanceFile is the name of the file that records what the others were built from.
	provenanceFile = "provenance.intoto.json"
	// sumsFile is the name of the file with the digests of all others, as sha256sum --check reads it.
	sumsFile   = "SHA256SUMS"
	repository = "https://github.com/ownership-handoff/handoff"
)

// resource is a file or what it was built from (https://github.com/in-toto/attestation/blob/main/spec/v1/resource_descriptor.md).
type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

// parameters are what a release was built with.
type parameters struct {
	Image           string   `json:"image"`
	ImagePlatforms  []string `json:"imagePlatforms"`
	PluginPlatforms []string `json:"pluginPlatforms"`
	Version         string   `json:"version"`
}

type (
	// statement is an in-toto statement with SLSA provenance (https://slsa.dev/spec/v1.1/provenance).
	statement struct {
		Type          string     `json:"_type"`
		Subject       []resource `json:"subject"`
		PredicateType string     `json:"predicateType"`
		Predicate     provenance `json:"predicate"`
	}
	provenance struct {
		BuildDefinition definition `json:"buildDefinition"`
		// Without the optional times of the build, which would make two builds differ.
		RunDetails struct {
			Builder struct {
				ID string `json:"id"`
			} `json:"builder"`
		} `json:"runDetails"`
	}
	definition struct {
		BuildType            string     `json:"buildType"`
		ExternalParameters   parameters `json:"externalParameters"`
		ResolvedDependencies []resource `json:"resolvedDependencies"`
	}
)

// writeProvenance writes the provenance of all files that are there. It is not signed: the workflow that publishes a release signs it.
func (r *release) writeProvenance(context.Context) error {
	subjects, err := r.digests(provenanceFile, sumsFile)
	if err != nil {
		return err
	}
	s := statement{Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1"}
	s.Predicate.RunDetails.Builder.ID = repository + "/tree/" + r.from.Version + "/hack/release"
	s.Predicate.BuildDefinition = definition{
		BuildType: repository + "/blob/" + r.from.Version + "/hack/release",
		ExternalParameters: parameters{
			Version: r.from.Version, Image: r.image, ImagePlatforms: r.imagePlatforms, PluginPlatforms: r.platforms,
		},
		ResolvedDependencies: []resource{
			{URI: "git+" + repository + "@refs/tags/" + r.from.Version, Digest: map[string]string{"gitCommit": r.from.Revision}},
			{URI: "https://go.dev/dl/" + r.from.Compiler, Name: "go"},
		},
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return r.write(provenanceFile, append(text, '\n'))
}

// digests returns the files with their digests, in the order of their names, without some.
func (r *release) digests(without ...string) (found []resource, err error) {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if slices.Contains(without, entry.Name()) {
			continue
		}
		content, err := os.ReadFile(r.path(entry.Name()))
		if err != nil {
			return nil, err
		}
		found = append(found, resource{Name: entry.Name(), Digest: map[string]string{"sha256": sum(content)}})
	}
	return found, nil
}

// writeSums writes the digests of all files that are there.
func (r *release) writeSums(context.Context) error {
	text, err := r.sums()
	if err != nil {
		return err
	}
	return r.write(sumsFile, []byte(text))
}

// sums returns the digests of all files but that of the checksums.
func (r *release) sums() (string, error) {
	files, err := r.digests(sumsFile)
	var text strings.Builder
	for _, file := range files {
		fmt.Fprintf(&text, "%s  %s\n", file.Digest["sha256"], file.Name)
	}
	return text.String(), err
}

// sum returns the digest of a file in hexadecimal.
func sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
