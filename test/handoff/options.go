package handofftest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// Options configure a webhook. The zero value runs what this repository builds and installs.
type Options struct {
	// Binary is the webhook's path. The default is bin/handoff-webhook, which `make build` builds.
	Binary string
	// Config is a file for --config. If it is empty, the webhook uses its default configuration.
	Config string
	// CertDir is a directory with the serving certificate, which several webhooks can share. If it is empty, the webhook gets its own.
	CertDir string
	// Kubeconfig is the webhook's kubeconfig. The default is that of the control plane's administrator.
	Kubeconfig string
	// Args are additional flags.
	Args []string
	// Environment are additional environment variables, as NAME=VALUE.
	Environment []string
	// Manifests is the kustomization with the MutatingWebhookConfiguration. The default is manifests/base.
	Manifests string
}

// withDefaults returns the options with defaults for empty fields.
func (o Options) withDefaults(controlPlane *controlplane.ControlPlane) (Options, error) {
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
		o.Kubeconfig = controlPlane.Kubeconfig
	}
	if _, err := os.Stat(o.Binary); err != nil {
		return o, fmt.Errorf("finding the webhook's binary: %w; run make build", err)
	}
	return o, nil
}
