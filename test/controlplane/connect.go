package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
)

var errNotOurs = errors.New("the control plane was not started by this process")

// Connect returns a control plane that this process did not start, such as a kind cluster's, with its own kubectl as from
// Start. Stop leaves it running; AddUser returns an error.
func Connect(ctx context.Context, kubeconfig string) (*ControlPlane, error) {
	binaries, err := findBinaries("")
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	dir, err := os.MkdirTemp("", "handoff-plane-*.d")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the control plane: %w", err)
	}
	p := &ControlPlane{Dir: dir, Kubectl: filepath.Join(dir, "bin", "kubectl"), Kubeconfig: filepath.Join(dir, "kubeconfig")}
	p.stop = sync.OnceValue(func() error { return os.RemoveAll(dir) })
	if err := os.WriteFile(p.Kubeconfig, content, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("kubeconfig: %w", err), p.Stop())
	}
	if p.Config, err = clientcmd.BuildConfigFromFlags("", p.Kubeconfig); err != nil {
		return nil, errors.Join(fmt.Errorf("kubeconfig %s: %w", kubeconfig, err), p.Stop())
	}
	p.Config.QPS, p.Config.Burst = 1000, 2000 // the same as for users of a control plane from Start
	if err := p.readVersion(); err != nil {
		return nil, errors.Join(fmt.Errorf("kubeconfig %s: %w", kubeconfig, err), p.Stop())
	}
	if err := p.installKubectl(ctx, binaries); err != nil {
		return nil, errors.Join(fmt.Errorf("installing kubectl: %w", err), p.Stop())
	}
	return p, nil
}

// Elsewhere reports whether the control plane was started by another process (see Connect).
func (p *ControlPlane) Elsewhere() bool { return p.servers == nil }
