// Package manifests holds what is installed against itself and a real API server: the overlays and the chart make the same
// objects, the API server accepts them, and they permit the webhook what it does.
package manifests_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// patience is how long anything that another process does may take here.
const patience = 60 * time.Second

// system is the namespace that handoff is installed in.
const system = "handoff-system"

// mistyped is a namespace whose mode is unknown.
const mistyped = "mistyped"

// cluster is what the tests share. Its namespace handoff-system is there, as the manifests have it.
var cluster struct {
	root  string
	plane *controlplane.Plane
}

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m.Run, os.Stderr, controlplane.Options{Output: os.Stderr}, prepare))
}

func prepare(ctx context.Context, plane *controlplane.Plane) (err error) {
	cluster.plane = plane
	if cluster.root, err = controlplane.Root(); err != nil {
		return err
	}
	for _, step := range [][]string{
		{"apply", "-f", filepath.Join(cluster.root, "manifests", "base", "namespace.yaml")},
		// A mode that is wrong from before there was a policy: several tests install the one for all.
		{"create", "namespace", mistyped},
		{"annotate", "namespace", mistyped, mode + "Enforce"},
	} {
		if out, err := exec.CommandContext(ctx, plane.Kubectl, step...).CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(step, " "), err, out)
		}
	}
	return nil
}

// result is what a command said.
type result struct {
	stdout, stderr string
	err            error
}

func run(t *testing.T, stdin, name string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return result{stdout: stdout.String(), stderr: stderr.String(), err: err}
}

// kubectl runs a command that must succeed, and returns what it printed.
func kubectl(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	r := run(t, stdin, cluster.plane.Kubectl, args...)
	if r.err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), r.err, r.stderr)
	}
	return r
}

// helm runs Helm 3, which asks no cluster.
func helm(t *testing.T, args ...string) result {
	t.Helper()
	binary := filepath.Join(cluster.root, "bin", "helm")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("no Helm to test with, run make helm: %v", err)
	}
	return run(t, "", binary, args...)
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}
