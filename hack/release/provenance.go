package main

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"

	provenancev1 "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// provenanceFile is the name of the file that records what the others were built from.
	provenanceFile = "provenance.intoto.json"
	repository     = "https://github.com/ownership-handoff/handoff"
	predicateType  = "https://slsa.dev/provenance/v1"
)

// writeProvenance writes an in-toto statement with SLSA provenance (https://slsa.dev/spec/v1.1/provenance) about all files that
// are there. It is not signed: the workflow that publishes a release signs it.
func writeProvenance(_ context.Context, r *release) error {
	subjects, err := subjectsOf(r.folder)
	if err != nil {
		return err
	}
	parameters, err := structpb.NewStruct(map[string]any{
		"version": r.from.Version, "image": r.image, "imagePlatforms": texts(r.imagePlatforms), "pluginPlatforms": texts(r.platforms),
	})
	if err != nil {
		return err
	}
	predicate := &provenancev1.Provenance{
		BuildDefinition: &provenancev1.BuildDefinition{
			BuildType:          repository + "/blob/" + r.from.Version + "/hack/release",
			ExternalParameters: parameters,
			ResolvedDependencies: []*intoto.ResourceDescriptor{
				{Uri: "git+" + repository + "@refs/tags/" + r.from.Version, Digest: map[string]string{"gitCommit": r.from.Revision}},
				{Uri: "https://go.dev/dl/" + r.from.Compiler, Name: "go"},
			},
		},
		RunDetails: &provenancev1.RunDetails{
			// Without the optional times of the build, which would make two builds differ.
			Builder: &provenancev1.Builder{Id: repository + "/tree/" + r.from.Version + "/hack/release"},
		},
	}
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, Subject: subjects, PredicateType: predicateType}
	text, err := protojson.Marshal(predicate)
	if err != nil {
		return err
	}
	statement.Predicate = &structpb.Struct{}
	if err := protojson.Unmarshal(text, statement.Predicate); err != nil {
		return err
	}
	if err := statement.Validate(); err != nil {
		return err
	}
	// protojson adds random white space, so that nobody relies on its output.
	if text, err = canonical(statement); err != nil {
		return err
	}
	return r.write(provenanceFile, text)
}

// subjectsOf returns the files of a folder with their digests, but for the provenance and the checksums.
func subjectsOf(folder string) ([]*intoto.ResourceDescriptor, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var subjects []*intoto.ResourceDescriptor
	for _, entry := range entries {
		if entry.Name() == provenanceFile || entry.Name() == sumsFile {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		digest := map[string]string{"sha256": hex.EncodeToString(sum(content))}
		subjects = append(subjects, &intoto.ResourceDescriptor{Name: entry.Name(), Digest: digest})
	}
	return subjects, nil
}

func texts(list []string) []any {
	values := make([]any, len(list))
	for i, text := range list {
		values[i] = text
	}
	return values
}
