package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
)

var errNotOurs = errors.New("the control plane runs elsewhere")

// Connect returns a plane that runs elsewhere, as in a kind cluster, with a kubectl of its own as Start's plane has it.
// Stop leaves it running; AddUser fails.
func Connect(kubeconfig string) (*Plane, error) {
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
		return nil, fmt.Errorf("directory of the control plane: %w", err)
	}
	p := &Plane{Dir: dir, Kubectl: filepath.Join(dir, "bin", "kubectl"), Kubeconfig: filepath.Join(dir, "kubeconfig")}
	p.stop = sync.OnceValue(func() error { return os.RemoveAll(dir) })
	if err := os.WriteFile(p.Kubeconfig, content, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("kubeconfig: %w", err), p.Stop())
	}
	if p.Config, err = clientcmd.BuildConfigFromFlags("", p.Kubeconfig); err != nil {
		return nil, errors.Join(fmt.Errorf("kubeconfig %s: %w", kubeconfig, err), p.Stop())
	}
	p.Config.QPS, p.Config.Burst = 1000, 2000 // as for the users of Start's plane
	if err := p.installKubectl(binaries); err != nil {
		return nil, errors.Join(fmt.Errorf("install kubectl: %w", err), p.Stop())
	}
	return p, nil
}

// Elsewhere says whether the plane runs elsewhere.
func (p *Plane) Elsewhere() bool { return p.servers == nil }
