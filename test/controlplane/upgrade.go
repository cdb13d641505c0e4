package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// Upgrade is an upgrade to another version, in the order of a cluster with several control plane nodes
// (https://kubernetes.io/releases/version-skew-policy/): a kube-apiserver of the new version joins, kube-controller-manager
// follows, and the old kube-apiserver leaves. Both servers have the same etcd and the same keys.
type Upgrade struct {
	// Kubeconfig is the path of the administrator's kubeconfig for the new API server.
	Kubeconfig string

	plane    *ControlPlane
	binaries string
	config   *rest.Config
	version  *version.Version
	// other is the API server that the control plane does not use: the new one until ReplaceControllers, then the old one.
	other *envtest.ControlPlane
}

// StartUpgrade starts the kube-apiserver of another directory. The control plane still uses the old one.
func (p *ControlPlane) StartUpgrade(ctx context.Context, binaries string) (*Upgrade, error) {
	binaries, err := findBinaries(binaries)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(p.Dir, "kube-apiserver-new.log"))
	if err != nil {
		return nil, fmt.Errorf("starting a second kube-apiserver: %w", err)
	}
	defer func() { _ = log.Close() }()
	old := p.servers.APIServer
	joining := &envtest.APIServer{Path: filepath.Join(binaries, "kube-apiserver"), CertDir: old.CertDir, EtcdURL: old.EtcdURL}
	joining.Authn, joining.CA = old.Authn, old.CA
	joining.Out, joining.Err = log, log
	joining.StartTimeout, joining.StopTimeout = startTimeout, stopTimeout
	joining.Configure().Set("service-account-issuer", old.SecureServing.URL("https", "/").String())
	if err := p.configure(ctx, joining, "new"); err != nil {
		return nil, err
	}
	p.upgrade = &Upgrade{
		plane: p, binaries: binaries, other: &envtest.ControlPlane{Etcd: p.servers.Etcd, APIServer: joining, KubectlPath: p.Kubectl},
	}
	if err := joining.Start(); err != nil {
		return nil, fmt.Errorf("starting a second kube-apiserver: %w\n%s", err, process.Tail(log.Name()))
	}
	return p.upgrade, p.upgrade.connect(ctx)
}

// connect writes the kubeconfig for the new API server, and reads its version.
func (u *Upgrade) connect(ctx context.Context) error {
	administrator, err := u.plane.userOf(u.other, "admin", "system:masters")
	if err != nil {
		return err
	}
	u.config, u.Kubeconfig = administrator.Config(), filepath.Join(u.plane.Dir, "kubeconfig-new")
	if err := writeKubeconfig(u.Kubeconfig, administrator); err != nil {
		return err
	}
	if u.version, err = versionOf(u.config); err != nil {
		return err
	}
	return waitForNamespace(ctx, u.config, "default")
}

// Version returns the version of the new API server, as 1.36.3.
func (u *Upgrade) Version() string { return u.version.String() }

// ReplaceControllers replaces kube-controller-manager by the new one. From now on, the control plane uses the new API server.
func (u *Upgrade) ReplaceControllers(ctx context.Context) error {
	p := u.plane
	if err := p.controllerManager.Stop(stopTimeout); err != nil {
		return fmt.Errorf("stopping the old controllers: %w", err)
	}
	p.servers, u.other = u.other, p.servers
	p.Config = u.config
	if err := p.readVersion(); err != nil {
		return err
	}
	return p.startControllerManager(ctx, "", u.binaries)
}

// Finish stops the old API server.
func (u *Upgrade) Finish() error {
	if err := u.other.APIServer.Stop(); err != nil {
		return fmt.Errorf("stopping the old kube-apiserver: %w", err)
	}
	return nil
}
