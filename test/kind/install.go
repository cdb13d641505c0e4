package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// way is a way to install handoff, as described in docs/install.md.
type way struct {
	name string
	// install installs a version, or upgrades to it.
	install, uninstall func(ctx context.Context, version string) error
}

// kustomization installs an overlay, a directory in manifests/, with kubectl apply -k.
func (p *proof) kustomization(overlay string) way {
	run := func(args ...string) func(context.Context, string) error {
		return func(ctx context.Context, version string) error {
			folder, err := p.folder(overlay, version)
			if err != nil {
				return err
			}
			_, err = p.cluster.kubectl(ctx, append(args, "-k", folder)...)
			return err
		}
	}
	return way{"kubectl apply -k " + overlay, run("apply"), run("delete", "--wait=true", "--ignore-not-found")}
}

// folder writes a kustomization as an operator would, with an overlay and an image, and returns its directory.
func (p *proof) folder(overlay, version string) (string, error) {
	folder := filepath.Join(p.root, "bin", "e2e-kind")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("creating a directory for the kustomization: %w", err)
	}
	const image = "ghcr.io/ownership-handoff/handoff-webhook"
	text := fmt.Sprintf("resources: [../../manifests/%s]\nimages: [{name: %s, newName: %q, newTag: %q}]\n",
		overlay, image, p.options.image, version)
	if overlay != "overlays/default" {
		text += "components: [../../manifests/components/namespace]\n"
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing the kustomization: %w", err)
	}
	return folder, nil
}

// release returns the path of a file of a release. With it, a person installs who has nothing else.
func (p *proof) release(version, file string) string {
	return filepath.Join(p.options.releases, version, file)
}

// released installs a file of a release with kubectl apply -f.
func (p *proof) released(file string) way {
	run := func(args ...string) func(context.Context, string) error {
		return func(ctx context.Context, version string) error {
			_, err := p.cluster.kubectl(ctx, append(args, "-f", p.release(version, file))...)
			return err
		}
	}
	return way{"kubectl apply -f " + file, run("apply"), run("delete", "--wait=true", "--ignore-not-found")}
}

// chart installs with Helm. The function returns the chart in a version, and its values.
func (p *proof) chart(name string, chart func(version string) []string) way {
	install := func(ctx context.Context, version string) error {
		return p.helm(ctx, append([]string{"upgrade", "--install", "--create-namespace", "handoff"}, chart(version)...)...)
	}
	uninstall := func(ctx context.Context, _ string) error {
		if err := p.helm(ctx, "uninstall", "handoff", "--wait"); err != nil {
			return err
		}
		_, err := p.cluster.kubectl(ctx, "delete", "namespace", handofftest.Namespace, "--ignore-not-found")
		return err
	}
	return way{name, install, uninstall}
}

// helm runs Helm in the namespace of the webhook.
func (p *proof) helm(ctx context.Context, args ...string) error {
	args = append(args, "--kubeconfig", p.cluster.controlPlane.Kubeconfig, "--namespace", handofftest.Namespace)
	_, err := command(ctx, "", p.options.helm, args...)
	return err
}

// available waits until the webhook is ready and each webhook in its configuration has a CA bundle.
func (p *proof) available(ctx context.Context) error {
	installed, err := handofftest.InCluster(ctx, p.cluster.controlPlane)
	if err != nil {
		return err
	}
	p.webhook = installed
	return eventually(ctx, "the webhook configuration has the caBundles", time.Minute, func() (bool, error) {
		bundles, err := p.cluster.kubectl(ctx, "get", "mutatingwebhookconfiguration", "handoff",
			"-o", `jsonpath={range .webhooks[*]}{.name}={.clientConfig.caBundle}{"\n"}{end}`)
		without := slices.ContainsFunc(strings.Fields(bundles), func(line string) bool { return strings.HasSuffix(line, "=") })
		return bundles != "" && !without, err
	})
}

// nothingLeft returns an error that lists the objects of any resource that match the labels. It ignores Events, which expire.
func (p *proof) nothingLeft(ctx context.Context, labels string) error {
	names, err := p.cluster.kubectl(ctx, "api-resources", "--verbs=list", "-o", "name")
	if err != nil {
		return err
	}
	var resources []string
	for name := range strings.Lines(names) {
		if name = strings.TrimSpace(name); name != "" && !strings.HasPrefix(name, "events") {
			resources = append(resources, name)
		}
	}
	left, err := p.cluster.kubectl(ctx, "get", strings.Join(resources, ","), "--all-namespaces", "-o", "name", "--selector", labels)
	if err == nil && left != "" {
		err = fmt.Errorf("left behind: %s", left)
	}
	return err
}

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
			result("kubectl handoff doctor "+version, fmt.Sprintf("no problem, after %.0f s", time.Since(began).Seconds()))
		}
		return err
	}}
}
