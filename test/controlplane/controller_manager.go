package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// startControllerManager starts the controllers, among them the horizontal pod autoscaler, and waits until they run.
func (p *Plane) startControllerManager(ctx context.Context, binaries string) error {
	// As on a real cluster, each controller is a service account of its own with no more rights than it needs, and the
	// webhook sees those names.
	kubeconfig, err := p.AddUser("system:kube-controller-manager")
	if err != nil {
		return err
	}
	ca := filepath.Join(p.Dir, "ca.crt")
	if err := os.WriteFile(ca, p.servers.APIServer.CA, 0o600); err != nil {
		return err
	}
	ports, err := process.FreePorts(1)
	if err != nil {
		return err
	}
	port := strconv.Itoa(ports[0])
	p.controllerManager, err = process.Start(
		filepath.Join(p.Dir, "kube-controller-manager.log"),
		filepath.Join(binaries, "kube-controller-manager"),
		"--kubeconfig="+kubeconfig,
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+filepath.Join(p.servers.APIServer.CertDir, "sa-signer.key"),
		"--root-ca-file="+ca,
		"--bind-address=127.0.0.1",
		"--secure-port="+port,
		"--leader-elect=false",
		"--controllers="+controllers(),
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		// A test cannot wait the 15 seconds between two looks, nor the five minutes before scaling down.
		"--horizontal-pod-autoscaler-sync-period=2s",
		"--horizontal-pod-autoscaler-downscale-stabilization=1s",
	)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.controllerManager.WaitHealthy(ctx, "https://127.0.0.1:"+port+"/healthz"); err != nil {
		return fmt.Errorf("wait for the controllers: %w", err)
	}
	return nil
}

// controllers are all but those that have nothing to do without nodes and disks, of which some would look for plugins
// in folders of this machine.
func controllers() string {
	return strings.Join([]string{
		"*",
		"-node-lifecycle-controller",
		"-taint-eviction-controller",
		"-device-taint-eviction-controller",
		"-persistentvolume-binder-controller",
		"-persistentvolume-attach-detach-controller",
		"-persistentvolume-expander-controller",
	}, ",")
}
