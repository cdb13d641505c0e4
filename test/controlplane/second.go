package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// StartSecondAPIServer starts another kube-apiserver, with the same etcd and the same keys. It is stopped with the control plane.
func (p *ControlPlane) StartSecondAPIServer(ctx context.Context) error {
	log, err := os.Create(filepath.Join(p.Dir, "kube-apiserver-second.log"))
	if err != nil {
		return fmt.Errorf("starting a second kube-apiserver: %w", err)
	}
	defer func() { _ = log.Close() }()
	first := p.servers.APIServer
	second := &envtest.APIServer{
		Path: first.Path, CertDir: first.CertDir, EtcdURL: first.EtcdURL, Out: log, Err: log, StartTimeout: startTimeout, StopTimeout: stopTimeout,
	}
	second.Authn, second.CA = first.Authn, first.CA
	second.Configure().Set("service-account-issuer", first.SecureServing.URL("https", "/").String())
	if err := p.configure(ctx, second, "second"); err != nil {
		return err
	}
	p.second = second
	if err := second.Start(); err != nil {
		return fmt.Errorf("starting a second kube-apiserver: %w\n%s", err, process.LogEnd(log.Name()))
	}
	return nil
}
