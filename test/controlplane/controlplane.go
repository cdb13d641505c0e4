// Package controlplane starts a real Kubernetes control plane for tests: etcd, kube-apiserver and kube-controller-manager as
// local processes, without nodes. It is ready in seconds, and leaves nothing behind when the test process ends.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// Options configure a control plane. The zero value starts all components.
type Options struct {
	// Binaries is the directory of etcd, kube-apiserver, kube-controller-manager and kubectl. The default is
	// $CONTROLPLANE_BIN or, if that is empty, bin/controlplane of this repository, where `make controlplane` builds them.
	Binaries string
	// Output receives a line for each component that becomes ready. Nil discards the lines.
	Output io.Writer
	// APIServerArgs are additional flags of kube-apiserver, without dashes. In the values, {dir} is replaced by ControlPlane.Dir:
	// {"audit-log-path": {"{dir}/audit-{server}.log"}}, and {server} by first or, for the second API server, by second.
	APIServerArgs map[string][]string
	// FeatureGates are set for kube-apiserver and kube-controller-manager, as --feature-gates: "HPAScaleToZero=true".
	FeatureGates string
	// EtcdMembers is the number of etcd's members. The default is one.
	EtcdMembers int
	// EtcdPeer returns the address at which other members reach the one that listens at an address, as that of a proxy. The default
	// is the same address.
	EtcdPeer func(address string) string
	// WithoutControllerManager starts no controllers: no pods for a Deployment, no autoscaling, no garbage collection.
	WithoutControllerManager bool
}

// ControlPlane is a running control plane. Several can run at the same time.
type ControlPlane struct {
	// Dir contains all files of the control plane: data, certificates, kubeconfigs and a log for each process. Callers may
	// add files. Every process whose command line contains Dir is terminated with the control plane.
	Dir string
	// Config and Kubeconfig, which is a file's path, authenticate as the administrator.
	Config     *rest.Config
	Kubeconfig string
	// Kubectl is the path of a kubectl for this control plane. It ignores the environment, and runs as the administrator
	// unless --kubeconfig is set. Its directory can be added to PATH.
	Kubectl string

	version           *version.Version
	policiesVersion   string
	options           Options
	servers           *envtest.ControlPlane
	etcdMembers       []*process.Process // all but the first
	etcdURLs          []string           // empty if there is only one member
	controllerManager *process.Process
	second            *envtest.APIServer // nil without one
	watchdog          *watchdog
	users             sync.Mutex
	stop              func() error
}

const (
	startTimeout = 60 * time.Second
	// stopTimeout is longer than the minute that the API server waits for requests in flight.
	stopTimeout = 70 * time.Second
)

// Start starts a control plane and returns when all components are ready. The caller must stop it; see Stop for what happens
// if the process ends without doing so. If ctx ends, Start returns an error after the component that is starting.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	binaries, err := findBinaries(options.Binaries)
	if err != nil {
		return nil, err
	}
	controlPlane, err := inDirectory(options)
	if err != nil {
		return nil, err
	}
	controlPlane.stop = sync.OnceValue(controlPlane.stopAll)
	if controlPlane.watchdog, err = watch(controlPlane.Dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(controlPlane.Dir))
	}
	if err := controlPlane.start(ctx, options, binaries); err != nil {
		return nil, errors.Join(err, controlPlane.Stop())
	}
	return controlPlane, nil
}

// inDirectory returns a control plane with its directory.
func inDirectory(options Options) (*ControlPlane, error) {
	// The suffix prevents one directory's path from being a prefix of another's, which would confuse their watchdogs.
	dir, err := os.MkdirTemp("", "handoff-plane-*.d")
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the control plane: %w", err)
	}
	p := &ControlPlane{Dir: dir, Kubectl: filepath.Join(dir, "bin", "kubectl"), Kubeconfig: filepath.Join(dir, "kubeconfig"), options: options}
	return p, nil
}

func (p *ControlPlane) start(ctx context.Context, options Options, binaries string) error {
	type part struct {
		name  string
		start func() error
	}
	parts := []part{
		{"etcd and kube-apiserver", func() error { return p.startServers(ctx, options, binaries) }},
		{"kube-controller-manager", func() error { return p.startControllerManager(ctx, options.FeatureGates, binaries) }},
	}
	if options.WithoutControllerManager {
		parts = parts[:1]
	}
	if err := p.installKubectl(binaries); err != nil {
		return fmt.Errorf("installing kubectl: %w", err)
	}
	for _, part := range parts {
		began := time.Now()
		if err := part.start(); err != nil {
			return fmt.Errorf("starting %s: %w", part.name, err)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("after starting %s: %w", part.name, err)
		}
		if options.Output != nil {
			fmt.Fprintf(options.Output, "control plane: %s ready after %.1f s\n", part.name, time.Since(began).Seconds())
		}
	}
	return nil
}

// Stop terminates all processes of the control plane and removes its directory. It may be called more than once.
//
// If this process ends without calling Stop, through a panic, a timeout of `go test`, os.Exit, Ctrl-C or SIGKILL, a watchdog
// does the same within seconds. Only a cache of envtest remains: an empty file for each allocated port in the user's cache
// directory. envtest removes these files when a control plane starts more than two minutes later.
func (p *ControlPlane) Stop() error { return p.stop() }

// stopAll stops the clients of each component before the component, so that none retries during its shutdown.
func (p *ControlPlane) stopAll() error {
	var failures []error
	if p.controllerManager != nil {
		failures = append(failures, p.controllerManager.Stop(stopTimeout))
	}
	if p.second != nil {
		failures = append(failures, p.second.Stop()) // the API servers stop before etcd
	}
	if p.servers != nil {
		failures = append(failures, p.servers.Stop())
	}
	for _, member := range p.etcdMembers {
		select {
		case <-member.Exited(): // a test has killed it
		default:
			failures = append(failures, member.Stop(stopTimeout))
		}
	}
	// A test can have killed a server so recently that its end is not noticed yet.
	failures = slices.DeleteFunc(failures, func(err error) bool { return errors.Is(err, syscall.ESRCH) })
	failures = append(failures, p.watchdog.release())
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("stopping the control plane: %w", err)
	}
	return nil
}

var errNotOurs = errors.New("the control plane was not started by this process")

// Connect returns a control plane that this process did not start, such as a kind cluster's, with its own kubectl as from
// Start. Stop leaves it running; AddUser returns an error.
func Connect(_ context.Context, kubeconfig string) (*ControlPlane, error) {
	binaries, err := findBinaries("")
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	p, err := inDirectory(Options{})
	if err != nil {
		return nil, err
	}
	p.stop = sync.OnceValue(func() error { return os.RemoveAll(p.Dir) })
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
	if err := p.installKubectl(binaries); err != nil {
		return nil, errors.Join(fmt.Errorf("installing kubectl: %w", err), p.Stop())
	}
	return p, nil
}

// Elsewhere reports whether the control plane was started by another process (see Connect).
func (p *ControlPlane) Elsewhere() bool { return p.servers == nil }
