package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
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
	if err := p.configure(ctx, apiServer, "first"); err != nil {
		return err
	}
	if err := os.Mkdir(apiServer.CertDir, 0o700); err != nil {
		return err
	}
	p.servers = &envtest.ControlPlane{Etcd: etcd, APIServer: apiServer, KubectlPath: p.Kubectl}
	if err := p.servers.Start(); err != nil {
		return fmt.Errorf("%w\n%s\n%s", err, process.LogEnd(etcdLog.Name()), process.LogEnd(apiServerLog.Name()))
	}
	if err := p.addAdministrator(); err != nil {
		return err
	}
	if err := p.readVersion(); err != nil {
		return err
	}
	return waitForNamespace(ctx, p.Config, "default")
}

// joinMembers makes etcd, which the caller starts, the first member of a cluster, and starts the other members. They are healthy
// once the first has started.
func (p *ControlPlane) joinMembers(first *envtest.Etcd, count int) error {
	ports, err := process.FreePorts(2 * count)
	if err != nil {
		return err
	}
	name := func(i int) string { return fmt.Sprintf("member-%d", i) }
	client := func(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", ports[i]) }
	peer := func(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", ports[count+i]) }
	reached, all := make([]string, count), make([]string, count)
	for i := range all {
		reached[i] = peer(i)
		if p.options.EtcdPeer != nil {
			reached[i] = "http://" + p.options.EtcdPeer(strings.TrimPrefix(peer(i), "http://"))
		}
		all[i] = name(i) + "=" + reached[i]
		p.etcdURLs = append(p.etcdURLs, client(i))
	}
	if first.URL, err = url.Parse(client(0)); err != nil {
		return fmt.Errorf("configuring etcd: %w", err)
	}
	first.Configure().Set("name", name(0)).Set("listen-peer-urls", peer(0)).Set("initial-advertise-peer-urls", reached[0]).
		Set("initial-cluster", strings.Join(all, ","))
	for i := 1; i < count; i++ {
		member, err := process.Start(
			filepath.Join(p.Dir, "etcd.log"), first.Path,
			"--name="+name(i),
			"--data-dir="+filepath.Join(p.Dir, "etcd-"+name(i)),
			"--listen-client-urls="+client(i), "--advertise-client-urls="+client(i),
			"--listen-peer-urls="+peer(i), "--initial-advertise-peer-urls="+reached[i],
			"--initial-cluster="+strings.Join(all, ","),
			"--unsafe-no-fsync=true",
		)
		if err != nil {
			return err
		}
		p.etcdMembers = append(p.etcdMembers, member)
	}
	return nil
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
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	exists := func(ctx context.Context) (bool, error) {
		return client.RESTClient().Get().AbsPath("/api/v1/namespaces", name).Do(ctx).Error() == nil, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, startTimeout, true, exists); err != nil {
		return fmt.Errorf("waiting for namespace %s: %w", name, err)
	}
	return nil
}

// AddUser adds a user with the permissions that RBAC grants to the name and the groups, and returns the path of a kubeconfig.
//
// The name can be that of a service account, system:serviceaccount:NAMESPACE:NAME: with the groups
// system:serviceaccounts and system:serviceaccounts:NAMESPACE, the user is authorized as the service account.
func (p *ControlPlane) AddUser(name string, groups ...string) (string, error) {
	user, err := p.user(name, groups...)
	if err != nil {
		return "", err
	}
	// The random part separates users whose names differ only in the replaced characters.
	file, err := os.CreateTemp(p.Dir, strings.NewReplacer(":", "_", "/", "_").Replace(name)+"-*.kubeconfig")
	if err != nil {
		return "", fmt.Errorf("writing the kubeconfig of %s: %w", name, err)
	}
	return file.Name(), errors.Join(file.Close(), writeKubeconfig(file.Name(), user))
}

// addAdministrator adds a user who has all permissions.
func (p *ControlPlane) addAdministrator() error {
	administrator, err := p.user("admin", "system:masters")
	if err != nil {
		return err
	}
	p.Config = administrator.Config()
	return writeKubeconfig(p.Kubeconfig, administrator)
}

// user returns a user of the API server with a client certificate.
func (p *ControlPlane) user(name string, groups ...string) (*envtest.AuthenticatedUser, error) {
	if p.Elsewhere() {
		return nil, fmt.Errorf("adding user %s: %w", name, errNotOurs)
	}
	p.users.Lock() // protects the CA's serial number, which has no lock of its own
	defer p.users.Unlock()
	// The default limit of 5 requests per second would slow down the tests.
	config := &rest.Config{QPS: 1000, Burst: 2000}
	user, err := p.servers.AddUser(envtest.User{Name: name, Groups: groups}, config)
	if err != nil {
		return nil, fmt.Errorf("adding user %s: %w", name, err)
	}
	return user, nil
}

func writeKubeconfig(path string, user *envtest.AuthenticatedUser) error {
	content, err := user.KubeConfig()
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}
