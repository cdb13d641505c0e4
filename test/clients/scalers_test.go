package clients_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// scalers returns the rows of the second table.
func scalers() []*scaler {
	return []*scaler{pausedKEDA(7), pausedKEDA(0), activeKEDA(), inactiveKEDA(), rollouts()}
}

// scalerScenarios returns the columns of the second table: those in which a scaler takes part.
func scalerScenarios() []scenario {
	return slices.DeleteFunc(scenarios(), func(s scenario) bool {
		return s.name == "removal, not scaled" || s.name == "adoption" || s.name == "rollback"
	})
}

// rollout refers to Deployment/web, which Argo Rollouts scales to 0 once the Rollout is healthy. A Rollout without replicas is
// healthy although no pod of the control plane runs.
const rollout = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 0
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web, scaleDown: progressively}
  strategy: {canary: {}}
`

// rollouts returns Argo Rollouts with a Rollout that takes over a Deployment. Its controller runs until it has scaled: it would
// scale again after each apply without handoff.
func rollouts() *scaler {
	return &scaler{
		name: "Argo Rollouts, a Rollout with `workloadRef`", by: "rollouts-controller", to: "0",
		scale: func(n *namespace) {
			n.Helper()
			controller := n.startRollouts()
			n.kubectl(rollout, "apply", "-f", "-")
			n.eventually("Argo Rollouts scales to 0", func() bool { return n.replicas() == 0 })
			n.stop(controller)
			n.known(true)
		},
		remove: func(n *namespace) {
			n.Helper()
			n.remove(object("argoproj.io/v1alpha1", "Rollout"))
			n.known(false)
		},
	}
}

// startRollouts starts the controller of Argo Rollouts for the namespace.
func (n *namespace) startRollouts() *process.Process {
	n.Helper()
	expect.NoError(n, suite.rollouts())
	return n.start("rollouts-controller", nil, "--kubeconfig="+suite.cluster.Plane.Kubeconfig, "--namespaced",
		"--leader-elect=false", "--namespace="+n.name, "--metricsPort="+port(n), "--healthzPort="+port(n))
}

// object returns an object web without content.
func object(apiVersion, kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName("web")
	return o
}

func installRollouts() error { return installCRDs("rollouts-controller", "rollouts.argoproj.io") }

// installCRDs creates the CRDs of a program, which make writes next to its binary, and waits until the named ones are established.
func installCRDs(program string, crds ...string) error {
	path := binary(program) + "-crds.yaml"
	if r := process.Run(context.Background(), nil, "", suite.cluster.Plane.Kubectl, "apply", "--server-side", "-f", path); r.Err != nil {
		return r.Err
	}
	return established(crds...)
}

// install creates a CRD and waits until it is established.
func install(crd, name string) error {
	if r := process.Run(context.Background(), nil, crd, suite.cluster.Plane.Kubectl, "apply", "-f", "-"); r.Err != nil {
		return fmt.Errorf("applying CRD %s: %w", name, r.Err)
	}
	return established(name)
}

// established waits until CRDs are established.
func established(crds ...string) error {
	for _, crd := range crds {
		for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
			args := []string{"wait", "--for=condition=Established", "--timeout=2m", "crd/" + crd}
			r := process.Run(context.Background(), nil, "", suite.cluster.Plane.Kubectl, args...)
			if r.Err == nil {
				break // kubectl fails while the CRD has no conditions yet
			}
			if time.Now().After(deadline) {
				return r.Err
			}
		}
	}
	return nil
}

// start starts a program with variables of its environment. It is stopped with the control plane at the latest.
func (n *namespace) start(name string, environment []string, args ...string) *process.Process {
	n.Helper()
	log := filepath.Join(suite.cluster.Plane.Dir, name+"-"+n.name+".log")
	p, err := process.Start(log, "/usr/bin/env", slices.Concat(environment, []string{binary(name)}, args)...)
	expect.NoError(n, err)
	n.Cleanup(func() {
		_ = p.Stop(time.Second) // a failure before is in the log
		if n.Failed() {
			n.Logf("%s:\n%s", name, p.Log())
		}
	})
	return p
}

func (n *namespace) stop(p *process.Process) {
	n.Helper()
	_ = p.Stop(10 * time.Second) // that it was killed is no failure of the test
}

// port returns a free port.
func port(n *namespace) string {
	n.Helper()
	ports, err := process.FreePorts(1)
	expect.NoError(n, err)
	return strconv.Itoa(ports[0])
}
