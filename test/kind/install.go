package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// way is a way to install handoff, as described in docs/install.md.
type way interface {
	name() string
	// install installs a version, or upgrades to it.
	install(ctx context.Context, version string) error
	uninstall(ctx context.Context) error
}

// kustomization installs with kubectl apply -k.
type kustomization struct {
	proof *proof

	overlay string // a directory in manifests/
}

func (k kustomization) name() string { return "kubectl apply -k " + k.overlay }

// folder writes a kustomization as an operator would, with an overlay and an image, and returns its directory.
func (k kustomization) folder(version string) (string, error) {
	folder := filepath.Join(k.proof.root, "bin", "e2e-kind")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("creating a directory for the kustomization: %w", err)
	}
	const image = "ghcr.io/ownership-handoff/handoff-webhook"
	text := fmt.Sprintf("resources: [../../manifests/%s]\nimages: [{name: %s, newName: %q, newTag: %q}]\n",
		k.overlay, image, k.proof.options.image, version)
	if k.overlay != "overlays/default" {
		text += "components: [../../manifests/components/namespace]\n"
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing the kustomization: %w", err)
	}
	return folder, nil
}

func (k kustomization) install(ctx context.Context, version string) error {
	folder, err := k.folder(version)
	if err != nil {
		return err
	}
	_, err = k.proof.cluster.kubectl(ctx, "apply", "-k", folder)
	return err
}

func (k kustomization) uninstall(ctx context.Context) error {
	folder, err := k.folder(k.proof.options.version)
	if err != nil {
		return err
	}
	_, err = k.proof.cluster.kubectl(ctx, "delete", "-k", folder, "--wait=true", "--ignore-not-found")
	return err
}

// chart installs with Helm.
type chart struct{ proof *proof }

func (chart) name() string { return "helm install" }

func (h chart) install(ctx context.Context, version string) error {
	_, err := command(ctx, "", h.proof.options.helm, "upgrade", "--install", "handoff",
		filepath.Join(h.proof.root, "manifests", "chart"),
		"--kubeconfig", h.proof.cluster.controlPlane.Kubeconfig, "--namespace", handofftest.Namespace, "--create-namespace",
		"--set", "image.repository="+h.proof.options.image, "--set", "image.tag="+version)
	return err
}

func (h chart) uninstall(ctx context.Context) error {
	_, err := command(ctx, "", h.proof.options.helm, "uninstall", "handoff",
		"--kubeconfig", h.proof.cluster.controlPlane.Kubeconfig, "--namespace", handofftest.Namespace, "--wait")
	if err != nil {
		return err
	}
	_, err = h.proof.cluster.kubectl(ctx, "delete", "namespace", handofftest.Namespace, "--ignore-not-found")
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
