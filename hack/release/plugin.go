package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/ownership-handoff/handoff/hack/image"
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
func buildPlugin(ctx context.Context, r *release) error {
	text, err := os.ReadFile(filepath.Join(r.from.Root, "manifests", "krew", "handoff.yaml"))
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
		digest := hex.EncodeToString(sum(archive))
		manifest = strings.ReplaceAll(manifest, "SHA256-"+strings.ReplaceAll(platform, "/", "-"), digest)
	}
	return r.write(krewManifest, []byte(manifest))
}

// archivePlugin returns the archive with the plugin of one platform, its license and its shell completion.
func (r *release) archivePlugin(ctx context.Context, platform string) ([]byte, error) {
	system, architecture, _ := strings.Cut(platform, "/")
	binary, err := image.Compile(ctx, r.from, "kubectl-handoff", v1.Platform{OS: system, Architecture: architecture})
	if err != nil {
		return nil, err
	}
	license, err := os.ReadFile(filepath.Join(r.from.Root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	const completion = "kubectl_complete-handoff"
	script, err := os.ReadFile(filepath.Join(r.from.Root, "manifests", "krew", completion))
	if err != nil {
		return nil, err
	}
	return gzipped(r.from.Time, []image.Member{
		{Name: "LICENSE", Mode: 0o644, Content: license},
		{Name: pluginProgram(platform), Mode: 0o755, Content: binary},
		{Name: completion, Mode: 0o755, Content: script},
	})
}
