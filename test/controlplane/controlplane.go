// Package controlplane gives a test a real Kubernetes control plane: etcd, kube-apiserver and kube-controller-manager as
// processes of this machine, without nodes, ready in seconds, of which nothing is left when the test is gone.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// Options say what kind of plane to start. The zero value is a complete one.
type Options struct {
	// Binaries is the directory of etcd, kube-apiserver, kube-controller-manager and kubectl. Without it, it is
	// $CONTROLPLANE_BIN, and without that bin/controlplane of this repository, where `make controlplane` puts them.
	Binaries string
	// Output receives a line for each part that is ready. Nil discards them.
	Output io.Writer
	// APIServerArgs are further flags of kube-apiserver, without their dashes. In the values, {dir} is Plane.Dir:
	// {"audit-log-path": {"{dir}/audit.log"}}.
	APIServerArgs map[string][]string
	// WithoutControllerManager leaves the objects alone: no pods for a Deployment, no autoscaling, no garbage collection.
	WithoutControllerManager bool
}

// Plane is a running control plane. Several can run at the same time.
type Plane struct {
	// Dir holds every file of the plane: data, certificates, kubeconfigs and one log for each process. Whatever else
	// belongs to the plane may be put there. Every process whose command line mentions it ends with the plane.
	Dir string
	// Config and Kubeconfig, which is the path of a file, are for the administrator.
	Config     *rest.Config
	Kubeconfig string
	// Kubectl is the path of a kubectl that talks to this plane, as its administrator if --kubeconfig names nobody else,
	// whatever the environment says. Its folder can be put into PATH.
	Kubectl string

	servers           *envtest.ControlPlane
	controllerManager *process.Process
	watchdog          *watchdog
	users             sync.Mutex
	stop              func() error
}

const (
	startTimeout = 60 * time.Second
	// stopTimeout is what the API server may take: it waits for the requests that it is answering, a minute at most.
	stopTimeout = 70 * time.Second
)

// Start starts a plane and returns once all of it is ready. The caller must stop it, but nothing is left behind either
// when this process ends without: see Stop. When ctx is done, starting ends after the part it is at.
func Start(ctx context.Context, options Options) (*Plane, error) {
	binaries, err := findBinaries(options.Binaries)
	if err != nil {
		return nil, err
	}
	// The suffix keeps one plane's directory from being the beginning of another's, which a watchdog would mistake for it.
	dir, err := os.MkdirTemp("", "handoff-plane-*.d")
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("directory of the control plane: %w", err)
	}
	plane := &Plane{Dir: dir, Kubectl: filepath.Join(dir, "bin", "kubectl")}
	plane.stop = sync.OnceValue(plane.stopAll)
	if plane.watchdog, err = watch(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := plane.start(ctx, options, binaries); err != nil {
		return nil, errors.Join(err, plane.Stop())
	}
	return plane, nil
}

func (p *Plane) start(ctx context.Context, options Options, binaries string) error {
	type part struct {
		name  string
		start func() error
	}
	parts := []part{
		{"etcd and kube-apiserver", func() error { return p.startServers(ctx, options.APIServerArgs, binaries) }},
		{"kube-controller-manager", func() error { return p.startControllerManager(ctx, binaries) }},
	}
	if options.WithoutControllerManager {
		parts = parts[:1]
	}
	if err := p.installKubectl(binaries); err != nil {
		return fmt.Errorf("install kubectl: %w", err)
	}
	for _, part := range parts {
		began := time.Now()
		if err := part.start(); err != nil {
			return fmt.Errorf("start %s: %w", part.name, err)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("after the start of %s: %w", part.name, err)
		}
		if options.Output != nil {
			fmt.Fprintf(options.Output, "control plane: %s ready after %.1f s\n", part.name, time.Since(began).Seconds())
		}
	}
	return nil
}

// Stop ends all processes of the plane and removes its directory. It may be called more than once.
//
// When this process ends without calling it, be it by a panic, a timeout of `go test`, os.Exit, Ctrl-C or SIGKILL, the
// same happens within seconds. What stays is a cache of envtest: an empty file for each port that it has handed out, in
// the user's cache folder, which it removes when a plane starts more than two minutes later.
func (p *Plane) Stop() error { return p.stop() }

// stopAll goes from the top to the bottom, so that no part spends its last seconds looking for one below it.
func (p *Plane) stopAll() error {
	var failures []error
	if p.controllerManager != nil {
		failures = append(failures, p.controllerManager.Stop(stopTimeout))
	}
	if p.servers != nil {
		failures = append(failures, p.servers.Stop())
	}
	failures = append(failures, p.watchdog.release())
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("stop control plane: %w", err)
	}
	return nil
}
