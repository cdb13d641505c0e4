package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// certManagerRelease is what everybody installs. Its version is that of certmanager/go.mod.
const certManagerRelease = "https://github.com/cert-manager/cert-manager/releases/download/v1.21.2/cert-manager.yaml"

// certManager is cert-manager at work.
type certManager struct {
	beside *process.Process // nil where it runs in the cluster
}

// installCertManager installs the release or, where that cannot be got, as on a machine that pulls no images either, runs
// the same controllers beside the cluster.
func installCertManager(ctx context.Context, c *cluster, binary string) (certManager, error) {
	if manifests, err := download(ctx, certManagerRelease); err == nil {
		say("installing cert-manager's release")
		if err := c.apply(ctx, manifests); err != nil {
			return certManager{}, err
		}
		_, err := c.kubectl(ctx, "wait", "--namespace", "cert-manager", "deployment", "--all",
			"--for=condition=Available", "--timeout=5m")
		return certManager{}, err
	}
	say("cert-manager's release cannot be got: running its controllers and its cainjector beside the cluster")
	if _, err := c.kubectl(ctx, "apply", "--server-side", "-f", binary+"-crds.yaml"); err != nil {
		return certManager{}, err
	}
	if err := eventually(ctx, "cert-manager's resources are served", time.Minute, func() (bool, error) {
		_, err := c.kubectl(ctx, "get", "issuers,certificates,certificaterequests", "--all-namespaces")
		return err == nil, err
	}); err != nil {
		return certManager{}, err
	}
	beside, err := process.Start(filepath.Join(c.Dir, "cert-manager.log"), binary, "--kubeconfig="+c.Kubeconfig)
	return certManager{beside: beside}, err
}

func download(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("get %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("get %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("get %s: %s", url, response.Status)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("get %s: %w", url, err)
	}
	return string(text), nil
}

func (m certManager) stop() {
	if m.beside != nil {
		_ = m.beside.Stop(10 * time.Second)
	}
}

// log is the end of what it has said, where it runs beside the cluster.
func (m certManager) log() string {
	if m.beside == nil {
		return ""
	}
	return "cert-manager:\n" + tail(m.beside.Log(), 20)
}
