// Package kyverno runs Kyverno's admission controller, built from its own module, beside a control plane.
package kyverno

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// Controller is a running admission controller.
type Controller struct {
	// PID is the process ID.
	PID int

	plane   *controlplane.ControlPlane
	process *process.Process
}

const (
	startTimeout = 3 * time.Minute
	stopTimeout  = 40 * time.Second // it waits up to 30 s for its connections
)

// ErrNotBuilt reports that there is no binary.
var ErrNotBuilt = errors.New("bin/kyverno is not built; make bin/kyverno shows why")

// Version returns the version of Kyverno that the binary in the folder bin of this repository was built from. The error is
// ErrNotBuilt without a binary.
func Version() (string, error) {
	path, err := binary()
	if err != nil {
		return "", err
	}
	return versionOf(path)
}

func versionOf(path string) (string, error) {
	info, err := buildinfo.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNotBuilt
	}
	if err != nil {
		return "", fmt.Errorf("reading the version of Kyverno: %w", err)
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == "github.com/kyverno/kyverno" {
			return module.Version, nil
		}
	}
	return "", fmt.Errorf("reading the version of Kyverno: %s was not built from its module", path)
}

func binary() (string, error) {
	root, err := controlplane.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "bin", "kyverno"), nil
}

// Start installs Kyverno for some namespaces and starts its admission controller. If it is not stopped, it is terminated with the
// control plane.
func Start(ctx context.Context, plane *controlplane.ControlPlane, namespaces []string) (*Controller, error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	c := &Controller{plane: plane}
	if err := c.install(ctx, path+"-crds.yaml", namespaces); err != nil {
		return nil, err
	}
	ports, err := process.FreePorts(2)
	if err != nil {
		return nil, err
	}
	args := append(environment(), path)
	args = append(args, flags(plane.Kubeconfig, ports[0], ports[1])...)
	c.process, err = process.Start(c.log(), "/usr/bin/env", args...)
	if err != nil {
		return nil, err
	}
	c.PID = c.process.PID()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.process.WaitHealthy(ctx, fmt.Sprintf("https://127.0.0.1:%d/health/readiness", ports[0])); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// Stop terminates the process. The error contains the end of the log if it had ended before.
func (c *Controller) Stop() error {
	if code := c.process.ExitCode(); code >= 0 {
		return fmt.Errorf("kyverno ended early, with exit code %d; %s", code, process.Tail(c.log()))
	}
	return c.process.Stop(stopTimeout)
}

func (c *Controller) log() string { return filepath.Join(c.plane.Dir, "kyverno.log") }

// environment returns the variables of the Deployment in Kyverno's Helm chart. The memory limit is what Kyverno derives from
// that of the pod, 384 MiB.
func environment() []string {
	return []string{
		"KYVERNO_NAMESPACE=kyverno", "KYVERNO_SERVICEACCOUNT_NAME=kyverno-admission-controller",
		"KYVERNO_DEPLOYMENT=kyverno-admission-controller", "KYVERNO_POD_NAME=kyverno-admission-controller",
		"KYVERNO_ROLE_NAME=kyverno:admission-controller", "KYVERNO_SVC=kyverno-svc",
		"INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics", "GOMEMLIMIT=345MiB",
	}
}

// flags returns the flags of the Deployment in Kyverno's Helm chart with an address outside of the cluster, and without what
// is not admission: reports, metrics, and the other controllers of Kyverno. The chart sets no limits for Kyverno's own
// requests, so that of the program applies, 100 per second. A Kyverno that cannot renew its lease in time exits, which in a
// cluster restarts the pod. Here, the writers may delay the renewals, so the lease lasts three minutes instead of twelve
// seconds.
func flags(kubeconfig string, port, metricsPort int) []string {
	const secret = "kyverno-svc.kyverno.svc.kyverno-tls-"
	return []string{
		"--kubeconfig=" + kubeconfig, fmt.Sprintf("--serverIP=127.0.0.1:%d", port),
		"--webhookServerHost=127.0.0.1", fmt.Sprintf("--webhookServerPort=%d", port),
		"--caSecretName=" + secret + "ca", "--tlsSecretName=" + secret + "pair",
		"--loggingFormat=text", "--v=2", "--omitEvents=PolicyApplied,PolicySkipped",
		"--generateValidatingAdmissionPolicy=true", "--generateMutatingAdmissionPolicy=false",
		"--maxAPICallResponseLength=2000000", "--leaderElectionRetryPeriod=30s",
		"--admissionReports=false", "--disableMetrics=true", "--controllerRuntimeMetricsAddress=0",
		"--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", metricsPort),
	}
}
