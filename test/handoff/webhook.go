// Package handofftest runs the real webhook of this repository against a control plane of package controlplane, and
// registers it there as its manifests do.
package handofftest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// Webhook is a running webhook.
type Webhook struct {
	// URL is where it serves, without a path. CA is the PEM of the authority behind its certificate.
	URL string
	CA  []byte

	plane     *controlplane.Plane
	process   *process.Process
	manifests string
	metrics   string
}

const (
	readyTimeout = 60 * time.Second
	// drainTimeout is how long the webhook may take to answer what it has already accepted.
	drainTimeout = 20 * time.Second
)

// Start starts a webhook and returns once it says that it is ready. The API server does not know of it before Register.
// It ends with the plane, if it is not stopped before.
func Start(ctx context.Context, plane *controlplane.Plane, options Options) (*Webhook, error) {
	options, err := options.withDefaults(plane)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(plane.Dir, "handoff-webhook-*")
	if err != nil {
		return nil, fmt.Errorf("directory of the webhook: %w", err)
	}
	ca, err := writeCertificate(dir)
	if err != nil {
		return nil, err
	}
	ports, err := process.FreePorts(3)
	if err != nil {
		return nil, err
	}
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	w := &Webhook{
		URL:       "https://" + address(0),
		CA:        ca,
		plane:     plane,
		manifests: options.Manifests,
		metrics:   "http://" + address(1) + "/metrics",
	}
	args := append([]string{
		"--kubeconfig=" + options.Kubeconfig,
		fmt.Sprintf("--webhook-port=%d", ports[0]),
		"--webhook-cert-dir=" + dir,
		"--metrics-bind-address=" + address(1),
		"--health-probe-bind-address=" + address(2),
		"--shutdown-delay=0s", // nobody has to learn of the end, unless a test says so
	}, options.Args...)
	if options.Config != "" {
		args = append(args, "--config="+options.Config)
	}
	if w.process, err = process.Start(filepath.Join(dir, "log"), options.Binary, args...); err != nil {
		return nil, err
	}
	if err := w.waitReady(ctx, "http://"+address(2)+"/readyz"); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Webhook) waitReady(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := w.process.WaitHealthy(ctx, url); err != nil {
		_ = w.Stop() // what it said until now tells more than how it ends
		return err
	}
	return nil
}

// Stop ends the process as a rolling update does: it may finish what it has accepted, and is killed if that takes too
// long, which is an error. The API server keeps calling it until Unregister.
func (w *Webhook) Stop() error { return w.process.Stop(drainTimeout) }

// Log is all that the webhook has logged so far.
func (w *Webhook) Log() string { return w.process.Log() }

// Metrics are the webhook's metrics now, in Prometheus' text format.
func (w *Webhook) Metrics(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.metrics, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("metrics of the webhook: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("metrics of the webhook: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("metrics of the webhook: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("metrics of the webhook: %s: %s", response.Status, text)
	}
	return string(text), nil
}
