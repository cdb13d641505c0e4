package handofftest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// Options say what to run. The zero value is what this repository builds and installs.
type Options struct {
	// Binary is the webhook's path, by default bin/handoff-webhook, where `make build` puts it.
	Binary string
	// Config is a file for --config; without it, the webhook has its defaults.
	Config string
	// Kubeconfig is of the user that the webhook is, by default the plane's administrator.
	Kubeconfig string
	// Args are further flags.
	Args []string
	// Manifests is the kustomization with the MutatingWebhookConfiguration, by default manifests/base.
	Manifests string
}

// withDefaults fills in what is not given.
func (o Options) withDefaults(plane *controlplane.Plane) (Options, error) {
	root, err := controlplane.Root()
	if err != nil {
		return o, err
	}
	if o.Binary == "" {
		o.Binary = filepath.Join(root, "bin", "handoff-webhook")
	}
	if o.Manifests == "" {
		o.Manifests = filepath.Join(root, "manifests", "base")
	}
	if o.Kubeconfig == "" {
		o.Kubeconfig = plane.Kubeconfig
	}
	if _, err := os.Stat(o.Binary); err != nil {
		return o, fmt.Errorf("no webhook to start, run make build: %w", err)
	}
	return o, nil
}
