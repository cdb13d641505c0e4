package main

import (
	"context"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// krewManifest is the name of the plugin's manifest for the krew index.
const krewManifest = "krew.yaml"

// pluginArchive is the name of the file with the plugin of one platform.
func pluginArchive(platform string) string {
	return "kubectl-handoff-" + strings.ReplaceAll(platform, "/", "-") + ".tar.gz"
}

// pluginProgram is the name of the plugin's program.
func pluginProgram(platform string) string {
	if strings.HasPrefix(platform, "windows/") {
		return "kubectl-handoff.exe"
	}
	return "kubectl-handoff"
}

// buildPlugin builds the plugin's archives, and the manifest with their digests: krew identifies them by these.
func (r *release) buildPlugin(ctx context.Context) error {
	text, err := r.from.file("manifests", "krew", "handoff.yaml")
	if err != nil {
		return err
	}
	manifest := strings.ReplaceAll(string(text), "VERSION", r.from.Version)
	for _, platform := range r.platforms {
		archive, err := r.archivePlugin(ctx, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := r.write(pluginArchive(platform), archive); err != nil {
			return err
		}
		manifest = strings.ReplaceAll(manifest, "SHA256-"+strings.ReplaceAll(platform, "/", "-"), sum(archive))
	}
	return r.write(krewManifest, []byte(manifest))
}

// archivePlugin returns the archive with the plugin of one platform, its license and its shell completion.
func (r *release) archivePlugin(ctx context.Context, platform string) ([]byte, error) {
	system, architecture, _ := strings.Cut(platform, "/")
	binary, err := r.from.compile(ctx, "kubectl-handoff", v1.Platform{OS: system, Architecture: architecture})
	if err != nil {
		return nil, err
	}
	license, err := r.from.file("LICENSE")
	if err != nil {
		return nil, err
	}
	const completion = "kubectl_complete-handoff"
	script, err := r.from.file("manifests", "krew", completion)
	if err != nil {
		return nil, err
	}
	return gzipped(r.from.Time, []member{
		{name: "LICENSE", mode: 0o644, content: license},
		{name: pluginProgram(platform), mode: 0o755, content: binary},
		{name: completion, mode: 0o755, content: script},
	})
}
