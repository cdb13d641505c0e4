package soak_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
	"github.com/ownership-handoff/handoff/test/proxy"
)

const (
	// patience is the timeout for anything that another process does.
	patience = 90 * time.Second
	members  = 3                // of etcd
	replicas = 3                // of the webhook
	managers = 2                // kube-controller-managers
	newGuard = 10 * time.Second // in which the webhook can miss that the guard was switched: it pauses for four, and waits for five
)

// rules are the configuration of the webhook: revisionHistoryLimit belongs to the tuner once that has written it.
const rules = `
apiVersion: config.ownership-handoff.io/v1alpha1
kind: HandoffConfiguration
rules:
- {name: tuner, kinds: [{group: apps, kind: Deployment}], fields: [.spec.revisionHistoryLimit], writers: [tuner]}
`

// auditPolicy records each write of a Deployment in the namespaces of the soak.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  verbs: [create, update, patch]
  namespaces: [%s]
  resources: [{group: apps, resources: [deployments, deployments/scale]}]
- level: None
`

// machine is a cluster whose parts can be broken.
type machine struct {
	*testing.T

	plane *controlplane.ControlPlane
	// config and kubeconfig lead to the API servers through a load balancer, which a connection of HTTP/1.1 passes.
	config      *rest.Config
	kubeconfig  string
	apis, etcds []*server
	peers       *peers // of etcd
	metrics     *objects.ExternalMetrics

	// The webhook: its pods behind a Service, the binary, the mounted files and the CA bundle.
	binary, certificates, configuration string
	service                             *proxy.TCP
	pods                                []*pod
	ca                                  []byte
}

// server is a process of the control plane that can be killed and started again with the same flags.
type server struct {
	procs.Process

	log, health string
	starting    *sync.Mutex
}

// kill kills the server, and waits until it has ended.
func (s *server) kill() error {
	err := syscall.Kill(s.PID, syscall.SIGKILL)
	for tries := 0; tries < 500 && isRunning(s.PID); tries++ {
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// restart starts the server until it is healthy, unless it runs: an API server exits if etcd is away for too long.
func (s *server) restart(ctx context.Context) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !isRunning(s.PID) {
		started, err := process.Start(s.log, s.Command[0], s.Command[1:]...)
		if err != nil {
			return err
		}
		s.PID = started.PID()
		if err := started.WaitHealthy(ctx, s.health); err != nil && ctx.Err() != nil {
			return err
		}
		wait(ctx, time.Second) // one that could not start has ended then
	}
	return nil
}

// newMachine starts a control plane of two API servers, three members of etcd and two controller managers, without the webhook. The
// API servers write the audit log of the namespaces to the files.
func newMachine(t *testing.T, namespaces []string, audit string) *machine {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	m := &machine{T: t, peers: &peers{}}
	m.must(os.WriteFile(policy, fmt.Appendf(nil, auditPolicy, strings.Join(namespaces, ", ")), 0o600))
	m.plane = controlplane.ForTest(t, controlplane.Options{
		Output: os.Stderr, EtcdMembers: members, WithoutControllerManager: true,
		EtcdPeer: func(address string) string { return m.peers.join(t, address) },
		APIServerArgs: map[string][]string{
			"audit-policy-file": {policy}, "audit-log-path": {filepath.Join(audit, "{server}")}, "audit-log-maxsize": {"1000000"},
		},
	})
	m.must(m.plane.StartSecondAPIServer(t.Context()))
	m.apis = m.adopt("kube-apiserver", "--secure-port=", "https://127.0.0.1:%s/readyz")
	m.etcds = m.adopt("etcd", "--listen-client-urls=http://127.0.0.1:", "http://127.0.0.1:%s/health")
	t.Cleanup(m.end)
	m.balance()
	for range managers {
		m.keepController()
	}
	m.metrics = objects.ServeExternalMetrics(m, m.kubectl)
	return m
}

// root returns the root directory of this repository.
func (m *machine) root() string {
	m.Helper()
	root, err := controlplane.Root()
	m.must(err)
	return root
}

// dir returns a directory for files of the webhook. It is in that of the control plane, whose watchdog finds processes by it.
func (m *machine) dir() string {
	m.Helper()
	dir, err := os.MkdirTemp(m.plane.Dir, "soak-")
	m.must(err)
	return dir
}

// must ends the test if an error is not nil.
func (m *machine) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// find returns the processes of a program of this control plane.
func (m *machine) find(program string) ([]procs.Process, error) {
	return procs.All(program, m.plane.Dir)
}

// adopt returns the servers of a program. health is the format of their health URL for the port that follows a flag.
func (m *machine) adopt(program, flag, health string) (servers []*server) {
	m.Helper()
	found, err := m.find(program)
	m.must(err)
	for _, p := range found {
		s := &server{Process: p, log: filepath.Join(m.plane.Dir, program+"-again.log"), starting: &sync.Mutex{}}
		for _, arg := range p.Command {
			if port, ok := strings.CutPrefix(arg, flag); ok {
				s.health = fmt.Sprintf(health, port)
			}
		}
		servers = append(servers, s)
	}
	return servers
}

// end kills the servers that the control plane does not know.
func (m *machine) end() {
	for _, s := range m.apis {
		_ = s.kill()
	}
}

// balance starts a load balancer before the API servers.
func (m *machine) balance() {
	m.Helper()
	ready := &endpoints{probe: func() (all []candidate) {
		for _, s := range m.apis {
			all = append(all, candidate{address: hostOf(s.health), health: s.health})
		}
		return all
	}}
	ready.follow(m.Context())
	balancer := proxy.StartBalancer(m.T, ready.pick)
	m.kubeconfig = m.through(balancer.Address, m.plane.Kubeconfig)
	config, err := clientcmd.BuildConfigFromFlags("", m.kubeconfig)
	m.must(err)
	config.QPS, config.NextProtos = -1, []string{"http/1.1"}
	m.config = config
	m.await("the load balancer has an API server", func() bool { return ready.pick() != "" })
}

// through returns a copy of a kubeconfig for another address of the API server.
func (m *machine) through(address, kubeconfig string) string {
	m.Helper()
	text, err := os.ReadFile(kubeconfig)
	m.must(err)
	file := kubeconfig + "-balanced"
	m.must(os.WriteFile(file, []byte(strings.ReplaceAll(string(text), hostOf(m.plane.Config.Host), address)), 0o600))
	return file
}

func hostOf(url string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(url, "http://"), "https://"), "/")
	return host
}

// keepController runs a kube-controller-manager, and restarts it as a kubelet does: one that cannot renew its lease exits.
func (m *machine) keepController() {
	m.Helper()
	kubeconfig, err := m.plane.AddUser("system:kube-controller-manager")
	m.must(err)
	kubeconfig = m.through(hostOf(m.config.Host), kubeconfig)
	running, err := m.plane.StartControllerManager(m.Context(), kubeconfig)
	m.must(err)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for m.Context().Err() == nil {
			if running != nil {
				select {
				case <-running.Exited():
				case <-m.Context().Done():
					_ = running.Stop(patience)
					return
				}
			}
			time.Sleep(time.Second)
			if running, err = m.plane.StartControllerManager(m.Context(), kubeconfig); err != nil {
				running = nil
			}
		}
	}()
	m.Cleanup(func() { <-stopped })
}

// kubectl runs a kubectl command that must succeed.
func (m *machine) kubectl(stdin string, args ...string) {
	m.Helper()
	if output, err := m.command(m.Context(), stdin, m.plane.Kubectl, args...); err != nil {
		m.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

// command runs a client through the load balancer, and returns its output.
func (m *machine) command(ctx context.Context, stdin, program string, args ...string) (string, error) {
	r := process.Run(ctx, nil, stdin, program, append([]string{"--kubeconfig", m.kubeconfig}, args...)...)
	return r.Stdout + r.Stderr, r.Err
}

// insist runs a kubectl command until it succeeds: another fault can have killed the API servers.
func (m *machine) insist(ctx context.Context, stdin string, args ...string) error {
	ctx, cancel := repairing(ctx)
	defer cancel()
	for {
		_, err := m.command(ctx, stdin, m.plane.Kubectl, args...)
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait(ctx, 500*time.Millisecond)
	}
}

// await waits for a condition.
func (m *machine) await(what string, done func() bool) {
	m.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.Fatalf("waited %v: %s", patience, what)
		}
	}
}

// healthy reports whether a URL returns 200, or refuses the connection.
func healthy(ctx context.Context, client *http.Client, url string) (ok, refused bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false, false
	}
	response, err := client.Do(request)
	if err != nil {
		return false, strings.Contains(err.Error(), syscall.ECONNREFUSED.Error())
	}
	return response.StatusCode == http.StatusOK, response.Body.Close() != nil
}

// install starts the webhook's pods with a binary behind a Service, and registers it.
func (m *machine) install(binary string) {
	m.Helper()
	binary = cmp.Or(binary, filepath.Join(m.root(), "bin", "handoff-webhook"))
	dir := m.dir()
	m.binary, m.certificates, m.configuration = binary, filepath.Join(dir, "tls"), filepath.Join(dir, "config.yaml")
	m.must(os.WriteFile(m.configuration, []byte(rules), 0o600))
	files := m.dir()
	ca, err := handofftest.WriteCertificate(files)
	m.must(err)
	m.ca = ca
	m.must(m.mount(files))
	ready := &endpoints{probe: m.podCandidates}
	m.service = proxy.StartBalancer(m.T, ready.pick)
	for range replicas {
		m.pods = append(m.pods, m.newPod())
	}
	ready.follow(m.Context())
	m.await("a pod is ready", func() bool { return ready.pick() != "" })
	hook := m.pods[0].hook
	hook.URL, hook.CA = "https://"+m.service.Address, m.ca
	m.must(hook.Register(m.Context()))
}

// mount mounts a directory with a certificate as the kubelet does, by replacing a symbolic link.
func (m *machine) mount(dir string) error {
	link := dir + "-link"
	if err := os.Symlink(dir, link); err != nil {
		return err
	}
	return os.Rename(link, m.certificates)
}

// trust sets the CA bundle of the webhook's configuration.
func (m *machine) trust(ctx context.Context, ca []byte) error {
	var patch []string
	for i := range 4 {
		patch = append(patch, fmt.Sprintf(`{"op": "replace", "path": "/webhooks/%d/clientConfig/caBundle", "value": %q}`,
			i, base64.StdEncoding.EncodeToString(ca)))
	}
	return m.insist(ctx, "", "patch", "mutatingwebhookconfiguration", "handoff", "--type=json", "-p", "["+strings.Join(patch, ",")+"]")
}
