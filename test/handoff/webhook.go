// Package handofftest runs this repository's webhook with a control plane of package controlplane, and registers it as its
// manifests do.
package handofftest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// Webhook is a running webhook.
type Webhook struct {
	// URL is the webhook's address, without a path, and CA the PEM-encoded CA certificate. Register uses them, so a caller can set
	// the address of a load balancer. CA is empty if Options.CertDir was set.
	URL string
	CA  []byte
	// Ready is the URL of the readiness probe.
	Ready string

	controlPlane *controlplane.ControlPlane
	process      *process.Process
	manifests    string
	metrics      string
}

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
	// Unready reports whether Start returns before the webhook is ready.
	Unready bool
	// Manifests is the kustomization with the MutatingWebhookConfiguration. The default is manifests/base.
	Manifests string
}

// withDefaults returns the options with defaults for empty fields.
func (o Options) withDefaults(controlPlane *controlplane.ControlPlane) (Options, error) {
	root, err := controlplane.Root()
	if err != nil {
		return o, err
	}
	o.Binary = cmp.Or(o.Binary, filepath.Join(root, "bin", "handoff-webhook"))
	o.Manifests = cmp.Or(o.Manifests, filepath.Join(root, "manifests", "base"))
	o.Kubeconfig = cmp.Or(o.Kubeconfig, controlPlane.Kubeconfig)
	if _, err := os.Stat(o.Binary); err != nil {
		return o, fmt.Errorf("finding the webhook's binary: %w; run make build", err)
	}
	return o, nil
}

const (
	readyTimeout = 60 * time.Second
	// drainTimeout is the timeout for the webhook to finish the requests in flight.
	drainTimeout = 20 * time.Second
)

// Start starts a webhook and, unless it is to be Unready, waits until it is ready. The API server does not call it before Register. If it is not stopped,
// it is terminated with the control plane.
func Start(ctx context.Context, controlPlane *controlplane.ControlPlane, options Options) (*Webhook, error) {
	options, err := options.withDefaults(controlPlane)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(controlPlane.Dir, "handoff-webhook-*")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the webhook: %w", err)
	}
	var ca []byte
	certificates := options.CertDir
	if certificates == "" {
		certificates = dir
		if ca, err = WriteCertificate(dir); err != nil {
			return nil, err
		}
	}
	ports, err := process.FreePorts(3)
	if err != nil {
		return nil, err
	}
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	w := &Webhook{
		URL:          "https://" + address(0),
		CA:           ca,
		Ready:        "http://" + address(2) + "/readyz",
		controlPlane: controlPlane,
		manifests:    options.Manifests,
		metrics:      "http://" + address(1) + "/metrics",
	}
	args := append([]string{
		"--kubeconfig=" + options.Kubeconfig,
		fmt.Sprintf("--webhook-port=%d", ports[0]),
		"--webhook-cert-dir=" + certificates,
		"--metrics-bind-address=" + address(1),
		"--health-probe-bind-address=" + address(2),
		"--shutdown-delay=0s", // tests that need a delay set it in Args
	}, options.Args...)
	if options.Config != "" {
		args = append(args, "--config="+options.Config)
	}
	binary := options.Binary
	if len(options.Environment) > 0 {
		binary, args = "/usr/bin/env", slices.Concat(options.Environment, []string{binary}, args)
	}
	if w.process, err = process.Start(filepath.Join(dir, "log"), binary, args...); err != nil {
		return nil, err
	}
	if options.Unready {
		return w, nil
	}
	if err := w.WaitReady(ctx); err != nil {
		_ = w.Stop() // the error already contains the log
		return nil, err
	}
	return w, nil
}

// WaitReady waits until the webhook is ready.
func (w *Webhook) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return w.process.WaitHealthy(ctx, w.Ready)
}

// Stop terminates the process as a rolling update does: the webhook finishes the requests in flight. If that takes too long,
// Stop kills the process and returns an error. The API server keeps calling the webhook until Unregister.
func (w *Webhook) Stop() error { return w.process.Stop(drainTimeout) }

// PID returns the process ID, with which a test can kill or suspend the webhook.
func (w *Webhook) PID() int { return w.process.PID() }

// Log returns the webhook's log so far.
func (w *Webhook) Log() string { return w.process.Log() }

// Metrics returns the webhook's current metrics in the Prometheus text format.
func (w *Webhook) Metrics(ctx context.Context) (string, error) {
	return process.Get(ctx, w.metrics)
}
