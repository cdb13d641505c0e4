package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// pluginOf returns the program of the kubectl plugin in a version, which is compiled from the sources.
func (p *proof) pluginOf(ctx context.Context, version string) (program string, err error) {
	program = filepath.Join(p.root, "bin", "e2e-kind", "kubectl-handoff-"+version)
	_, err = command(ctx, "", "go", "build", "-C", p.root, "-ldflags", "-X main.version="+version, "-o", program,
		"./cmd/kubectl-handoff")
	return program, err
}

// releasedPluginOf returns the program of the kubectl plugin in the archive of a release.
func (p *proof) releasedPluginOf(ctx context.Context, version string) (program string, err error) {
	folder := filepath.Join(p.root, "bin", "e2e-kind", "plugin-"+version)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("creating a folder for the plugin: %w", err)
	}
	archive := filepath.Join(p.options.releases, version, "kubectl-handoff-"+runtime.GOOS+"-"+runtime.GOARCH+".tar.gz")
	_, err = command(ctx, "", "tar", "-xzf", archive, "-C", folder)
	return filepath.Join(folder, "kubectl-handoff"), err
}

// diagnosed returns a step that runs kubectl handoff doctor, with the plugin of a version. It must find no problem, and be able
// to check everything.
func (p *proof) diagnosed(version string, plugin func(ctx context.Context, version string) (string, error)) step {
	return step{"kubectl handoff doctor " + version, func(ctx context.Context) error {
		program, err := plugin(ctx, version)
		if err != nil {
			return err
		}
		began := time.Now()
		err = eventually(ctx, "the doctor finds no problem", 2*time.Minute, func() (bool, error) {
			output, err := command(ctx, "", program, "doctor", "--kubeconfig", p.cluster.controlPlane.Kubeconfig)
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, output)
			}
			return err == nil, err
		})
		if err == nil {
			p.figures.add("kubectl handoff doctor "+version, fmt.Sprintf("no problem, after %.0f s", time.Since(began).Seconds()))
		}
		return err
	}}
}
