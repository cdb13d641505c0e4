// Package manifests tests the manifests: the overlays and the chart render the same objects, a real API server accepts them, and
// their RBAC rules suffice for the webhook.
package manifests_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// patience is the timeout for anything that another process does.
const patience = 60 * time.Second

// system is the namespace that handoff is installed in.
const system = "handoff-system"

// mistyped is a namespace with an unknown mode.
const mistyped = "mistyped"

// cluster is shared by the tests. It contains the namespace handoff-system from the manifests.
var cluster struct {
	root         string
	controlPlane *controlplane.ControlPlane
}

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m.Run, os.Stderr, controlplane.Options{Output: os.Stderr}, prepare))
}

func prepare(ctx context.Context, controlPlane *controlplane.ControlPlane) (err error) {
	cluster.controlPlane = controlPlane
	if cluster.root, err = controlplane.Root(); err != nil {
		return err
	}
	for _, step := range [][]string{
		{"apply", "-f", filepath.Join(cluster.root, "manifests", "components", "namespace", "namespace.yaml")},
		// Set an unknown mode before a test installs the policy, which applies to the whole cluster.
		{"create", "namespace", mistyped},
		{"annotate", "namespace", mistyped, mode + "Enforce"},
	} {
		if r := process.Run(ctx, nil, "", controlPlane.Kubectl, step...); r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// result is the output of a command.
type result = process.Result

// run runs kubectl.
func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return process.Run(t.Context(), nil, stdin, cluster.controlPlane.Kubectl, args...)
}

// kubectl runs a kubectl command that must succeed, and returns its output.
func kubectl(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	r := run(t, stdin, args...)
	expect.NoError(t, r.Err)
	return r
}

// helm runs Helm 3.
func helm(t *testing.T, args ...string) result {
	t.Helper()
	binary := filepath.Join(cluster.root, "bin", "helm")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("finding Helm: %v; run make bin/helm", err)
	}
	return process.Run(t.Context(), nil, "", binary, args...)
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out after %s: %s", patience, what)
		}
	}
}
