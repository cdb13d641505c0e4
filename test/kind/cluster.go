package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// cluster is a kind cluster.
type cluster struct {
	controlPlane *controlplane.ControlPlane
	options      options
	kubeconfig   string
}

// kindConfig makes the HorizontalPodAutoscaler controller sync every two seconds, as in the other tests.
const kindConfig = `
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
- role: control-plane
  kubeadmConfigPatches:
  - |
    kind: ClusterConfiguration
    controllerManager:
      extraArgs:
      - {name: horizontal-pod-autoscaler-sync-period, value: 2s}
`

// create creates the cluster and loads the images into it.
func create(ctx context.Context, o options) (*cluster, error) {
	dir, err := os.MkdirTemp("", "handoff-kind-*")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the cluster: %w", err)
	}
	c := &cluster{options: o, kubeconfig: filepath.Join(dir, "kubeconfig")}
	args := []string{"create", "cluster", "--name", o.name, "--kubeconfig", c.kubeconfig, "--wait", "3m", "--config", "-"}
	if o.nodeImage != "" {
		args = append(args, "--image", o.nodeImage)
	}
	report("creating kind cluster %s", o.name)
	if _, err := command(ctx, kindConfig, o.kind, args...); err != nil {
		return nil, errors.Join(err, c.delete(ctx))
	}
	if err := c.prepare(ctx); err != nil {
		return nil, errors.Join(err, c.end(ctx, err))
	}
	return c, nil
}

func (c *cluster) prepare(ctx context.Context) (err error) {
	for _, archive := range strings.Split(c.options.archives, ",") {
		report("loading %s", archive)
		if _, err := command(ctx, "", c.options.kind, "load", "image-archive", archive, "--name", c.options.name); err != nil {
			return err
		}
	}
	c.controlPlane, err = controlplane.Connect(ctx, c.kubeconfig)
	return err
}

// end deletes the cluster, unless --keep is set.
func (c *cluster) end(ctx context.Context, why error) error {
	if c.controlPlane != nil {
		defer func() { _ = c.controlPlane.Stop() }() // only removes a directory
	}
	if c.options.keep {
		report("keeping the cluster; use it with: export KUBECONFIG=%s; delete it with: kind delete cluster --name %s",
			c.kubeconfig, c.options.name)
		return nil
	}
	if why != nil {
		report("deleting the cluster; use --keep to keep it for inspection")
	}
	return c.delete(ctx)
}

func (c *cluster) delete(ctx context.Context) error {
	// Delete the cluster even if the context is canceled.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()
	err := eventually(ctx, "the cluster is deleted", 3*time.Minute, func() (bool, error) {
		_, err := command(ctx, "", c.options.kind, "delete", "cluster", "--name", c.options.name, "--kubeconfig", c.kubeconfig)
		return err == nil, err // docker sometimes fails to stop a busy node at the first attempt
	})
	return errors.Join(err, os.RemoveAll(filepath.Dir(c.kubeconfig)))
}

// kubectl runs a command that must succeed, and returns what it prints.
func (c *cluster) kubectl(ctx context.Context, args ...string) (string, error) {
	return command(ctx, "", c.controlPlane.Kubectl, args...)
}

// handoff runs a command in the namespace of the webhook.
func (c *cluster) handoff(ctx context.Context, args ...string) (string, error) {
	return c.kubectl(ctx, append([]string{"--namespace", handofftest.Namespace}, args...)...)
}

// apply applies manifests.
func (c *cluster) apply(ctx context.Context, manifests string, args ...string) error {
	_, err := command(ctx, manifests, c.controlPlane.Kubectl, append([]string{"apply", "-f", "-"}, args...)...)
	return err
}

// command runs a program and returns its standard output. The error contains its standard error.
func command(ctx context.Context, stdin, name string, args ...string) (string, error) {
	r := process.Run(ctx, nil, stdin, name, args...)
	return r.Stdout, r.Err
}

// report prints progress to standard error.
func report(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05")+" kind: "+format+"\n", args...)
}

// eventually waits until done returns true.
func eventually(ctx context.Context, what string, patience time.Duration, done func() (bool, error)) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, patience, true, func(context.Context) (ok bool, _ error) {
		ok, last = done()
		return ok, nil
	})
	if err != nil {
		return fmt.Errorf("waiting %s until %s: %w", patience, what, errors.Join(err, last))
	}
	return nil
}

// certManagerRelease is the manifest of the official release. Its version is the same as in test/programs/go.mod.
const certManagerRelease = "https://github.com/cert-manager/cert-manager/releases/download/v1.21.2/cert-manager.yaml"

// installCertManager installs the release. If it cannot be downloaded, as on a machine that cannot pull images either, it runs
// the same controllers as a local process, which it returns.
func installCertManager(ctx context.Context, c *cluster, binary string) (*process.Process, error) {
	limited, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := c.kubectl(limited, "create", "--dry-run=client", "-o", "name", "-f", certManagerRelease); err == nil {
		report("installing cert-manager's release")
		if _, err := c.kubectl(ctx, "apply", "-f", certManagerRelease); err != nil {
			return nil, err
		}
		_, err := c.kubectl(ctx, "wait", "--namespace", "cert-manager", "deployment", "--all",
			"--for=condition=Available", "--timeout=5m")
		return nil, err
	}
	report("cannot download cert-manager's release: running its controllers and its cainjector as a local process")
	if _, err := c.kubectl(ctx, "apply", "--server-side", "-f", binary+"-crds.yaml"); err != nil {
		return nil, err
	}
	if err := eventually(ctx, "the API server serves cert-manager's resources", time.Minute, func() (bool, error) {
		_, err := c.kubectl(ctx, "get", "issuers,certificates,certificaterequests", "--all-namespaces")
		return err == nil, err
	}); err != nil {
		return nil, err
	}
	return process.Start(filepath.Join(c.controlPlane.Dir, "cert-manager.log"), binary, "--kubeconfig="+c.controlPlane.Kubeconfig)
}
