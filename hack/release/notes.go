package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// notesFile is the name of the file with the release notes.
const notesFile = "RELEASE_NOTES.md"

// writeNotes writes the release's section of the changelog, with how to install and verify the release.
func writeNotes(_ context.Context, r *release) error {
	changelog, err := os.ReadFile(filepath.Join(r.from.Root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	changes, err := section(string(changelog), r.from.Version)
	if err != nil {
		return err
	}
	return r.write(notesFile, fmt.Appendf(nil, `# handoff %[1]s

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
`, r.from.Version, chartArchive(r.from.Version), imageArchive(r.from.Version, r.imagePlatforms[0]), sumsFile, r.from.Revision, r.from.Compiler, changes))
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
