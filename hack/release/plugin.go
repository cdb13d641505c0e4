package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
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

// buildPlugin builds the plugin's archives with hack/krew-archives.sh.
func buildPlugin(ctx context.Context, r *release) error {
	dir, err := filepath.Abs(filepath.Join(r.scratch, "plugin"))
	if err != nil {
		return err
	}
	if _, err := r.output(ctx, append([]string{"sh", "hack/krew-archives.sh", dir, r.version}, r.platforms...)...); err != nil {
		return err
	}
	for _, platform := range r.platforms {
		if err := os.Rename(filepath.Join(dir, pluginArchive(platform)), r.path(pluginArchive(platform))); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(dir, "handoff.yaml"), r.path(krewManifest))
}
