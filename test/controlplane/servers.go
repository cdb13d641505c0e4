package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// startServers starts etcd and kube-apiserver, and adds the administrator.
//
// It does not use envtest.Environment, which retries five times and lets environment variables choose other binaries.
func (p *ControlPlane) startServers(ctx context.Context, options Options, binaries string) error {
	// Log to files instead of pipes (see process.Start). The servers keep the files open after this function closes them.
	etcdLog, err := os.Create(filepath.Join(p.Dir, "etcd.log"))
	if err != nil {
		return err
	}
	defer func() { _ = etcdLog.Close() }()
	apiServerLog, err := os.Create(filepath.Join(p.Dir, "kube-apiserver.log"))
	if err != nil {
		return err
	}
	defer func() { _ = apiServerLog.Close() }()

	etcd := &envtest.Etcd{Path: filepath.Join(binaries, "etcd"), DataDir: filepath.Join(p.Dir, "etcd")}
	etcd.Out, etcd.Err = etcdLog, etcdLog
	etcd.StartTimeout, etcd.StopTimeout = startTimeout, stopTimeout
	if options.EtcdMembers > 1 {
		if err := p.joinMembers(etcd, options.EtcdMembers); err != nil {
			return err
		}
	}

	apiServer := &envtest.APIServer{Path: filepath.Join(binaries, "kube-apiserver"), CertDir: filepath.Join(p.Dir, "kube-apiserver")}
	apiServer.Out, apiServer.Err = apiServerLog, apiServerLog
	apiServer.StartTimeout, apiServer.StopTimeout = startTimeout, stopTimeout
	if err := p.configure(ctx, apiServer, "old"); err != nil {
		return err
	}
	if err := os.Mkdir(apiServer.CertDir, 0o700); err != nil {
		return err
	}
	p.servers = &envtest.ControlPlane{Etcd: etcd, APIServer: apiServer, KubectlPath: p.Kubectl}
	if err := p.servers.Start(); err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, process.Tail(etcdLog.Name()), process.Tail(apiServerLog.Name()))
	}
	if err := p.addAdministrator(); err != nil {
		return err
	}
	if err := p.readVersion(); err != nil {
		return err
	}
	return waitForNamespace(ctx, p.Config, "default")
}

// configure sets the flags of the options.
func (p *ControlPlane) configure(ctx context.Context, apiServer *envtest.APIServer, server string) error {
	if err := enableMutatingPolicies(ctx, apiServer); err != nil {
		return err
	}
	if len(p.etcdURLs) > 0 {
		apiServer.Configure().Set("etcd-servers", p.etcdURLs...)
	}
	if p.options.FeatureGates != "" {
		apiServer.Configure().Append("feature-gates", p.options.FeatureGates)
	}
	for name, values := range p.options.APIServerArgs {
		for _, value := range values {
			apiServer.Configure().Append(name, strings.NewReplacer("{dir}", p.Dir, "{server}", server).Replace(value))
		}
	}
	return nil
}

// waitForNamespace waits for a namespace that the API server creates shortly after it has become ready.
func waitForNamespace(ctx context.Context, config *rest.Config, name string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	url := strings.TrimSuffix(config.Host, "/") + "/api/v1/namespaces/" + name
	exists := func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := client.Do(request)
		if err != nil {
			return false, err
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	}
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, startTimeout, true, exists); err != nil {
		return fmt.Errorf("waiting for namespace %s: %w", name, err)
	}
	return nil
}

// EtcdURL returns the address of etcd, which accepts every client. Benchmarks write many objects at once to it.
func (p *ControlPlane) EtcdURL() string { return p.servers.Etcd.URL.String() }
