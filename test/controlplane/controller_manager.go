package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// startControllerManager starts the controllers, including the HorizontalPodAutoscaler controller, and waits until they run.
func (p *ControlPlane) startControllerManager(ctx context.Context, featureGates, binaries string) error {
	// As in a real cluster, each controller has its own service account with minimal permissions, and the webhook sees the
	// names of these accounts.
	kubeconfig, err := p.AddUser("system:kube-controller-manager")
	if err != nil {
		return err
	}
	p.controllerManager, err = p.runControllerManager(ctx, binaries, kubeconfig, "--leader-elect=false", "--feature-gates="+featureGates)
	return err
}

// StartControllerManager starts a kube-controller-manager beside others, one of which they elect as the leader. The caller stops it.
func (p *ControlPlane) StartControllerManager(ctx context.Context, kubeconfig string) (*process.Process, error) {
	binaries, err := findBinaries(p.options.Binaries)
	if err != nil {
		return nil, err
	}
	return p.runControllerManager(ctx, binaries, kubeconfig, "--feature-gates="+p.options.FeatureGates)
}

func (p *ControlPlane) runControllerManager(ctx context.Context, binaries, kubeconfig string, args ...string) (*process.Process, error) {
	ca := filepath.Join(p.Dir, "ca.crt")
	if err := os.WriteFile(ca, p.servers.APIServer.CA, 0o600); err != nil {
		return nil, err
	}
	ports, err := process.FreePorts(1)
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(ports[0])
	started, err := process.Start(
		filepath.Join(p.Dir, "kube-controller-manager.log"),
		filepath.Join(binaries, "kube-controller-manager"),
		append(args, "--kubeconfig="+kubeconfig,
			"--use-service-account-credentials=true",
			"--service-account-private-key-file="+filepath.Join(p.servers.APIServer.CertDir, "sa-signer.key"),
			"--root-ca-file="+ca,
			"--bind-address=127.0.0.1",
			"--secure-port="+port,
			"--controllers="+p.controllers(),
			"--kube-api-qps=200",
			"--kube-api-burst=400",
			// The defaults of 15 seconds and five minutes are too long for a test.
			"--horizontal-pod-autoscaler-sync-period=2s",
			"--horizontal-pod-autoscaler-downscale-stabilization=1s",
		)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := started.WaitHealthy(ctx, "https://127.0.0.1:"+port+"/healthz"); err != nil {
		return nil, fmt.Errorf("waiting for the controllers: %w", errors.Join(err, started.Stop(stopTimeout)))
	}
	return started, nil
}

// controllers returns the value of --controllers. It disables controllers that need nodes or volumes, some of which would
// search directories of this machine for plugins. kube-controller-manager refuses the name of a controller that it does not have.
func (p *ControlPlane) controllers() string {
	names := []string{
		"*",
		"-node-lifecycle-controller",
		"-taint-eviction-controller",
		"-persistentvolume-binder-controller",
		"-persistentvolume-attach-detach-controller",
		"-persistentvolume-expander-controller",
	}
	if p.Since(33) {
		names = append(names, "-device-taint-eviction-controller")
	}
	return strings.Join(names, ",")
}
