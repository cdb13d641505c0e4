package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// certManagerRelease is the manifest of the official release. Its version is the same as in test/programs/go.mod.
const certManagerRelease = "https://github.com/cert-manager/cert-manager/releases/download/v1.21.2/cert-manager.yaml"

// installCertManager installs the release. If it cannot be downloaded, as on a machine that cannot pull images either, it runs
// the same controllers as a local process, which it returns.
func installCertManager(ctx context.Context, c *cluster, binary string) (*process.Process, error) {
	limited, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := c.kubectl(limited, "create", "--dry-run=client", "-o", "name", "-f", certManagerRelease); err == nil {
		report("installing cert-manager's release")
		if _, err := c.kubectl(ctx, "apply", "-f", certManagerRelease); err != nil {
			return nil, err
		}
		_, err := c.kubectl(ctx, "wait", "--namespace", "cert-manager", "deployment", "--all",
			"--for=condition=Available", "--timeout=5m")
		return nil, err
	}
	report("cannot download cert-manager's release: running its controllers and its cainjector as a local process")
	if _, err := c.kubectl(ctx, "apply", "--server-side", "-f", binary+"-crds.yaml"); err != nil {
		return nil, err
	}
	if err := eventually(ctx, "the API server serves cert-manager's resources", time.Minute, func() (bool, error) {
		_, err := c.kubectl(ctx, "get", "issuers,certificates,certificaterequests", "--all-namespaces")
		return err == nil, err
	}); err != nil {
		return nil, err
	}
	return process.Start(filepath.Join(c.controlPlane.Dir, "cert-manager.log"), binary, "--kubeconfig="+c.controlPlane.Kubeconfig)
}
