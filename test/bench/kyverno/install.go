package kyverno

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Policy is a MutatingPolicy that keeps the replicas of the Deployments of a namespace.
type Policy string

// The policies.
const (
	// Keep reads in managedFields whether a Deployment was scaled.
	Keep Policy = "keep.yaml"
	// Lookup looks for the HorizontalPodAutoscaler of a Deployment in the API server.
	Lookup Policy = "lookup.yaml"
)

// Name returns a short name.
func (p Policy) Name() string { return strings.TrimSuffix(string(p), ".yaml") }

// Title describes the policy.
func (p Policy) Title() string {
	if p == Lookup {
		return "a MutatingPolicy that looks for the autoscaler and keeps replicas"
	}
	return "a MutatingPolicy that keeps replicas"
}

//go:embed *.yaml
var manifests embed.FS

// install creates the CRDs, waits for them, and creates Kyverno's namespace and configuration.
func (c *Controller) install(ctx context.Context, crds string, namespaces []string) error {
	if err := c.kubectl(ctx, "", "apply", "--server-side", "-f", crds); err != nil {
		return fmt.Errorf("installing Kyverno: %w", err)
	}
	if err := c.established(ctx, crds); err != nil {
		return fmt.Errorf("installing Kyverno: %w", err)
	}
	text, err := configuration(namespaces)
	if err == nil {
		err = c.kubectl(ctx, text, "apply", "-f", "-")
	}
	if err != nil {
		return fmt.Errorf("installing Kyverno: %w", err)
	}
	return nil
}

// established waits until the API server serves all CRDs of a file. kubectl fails while one has no conditions yet.
func (c *Controller) established(ctx context.Context, crds string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := c.kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=1m", "-f", crds)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// configuration returns Kyverno's namespace, and its configuration for some namespaces.
func configuration(namespaces []string) (string, error) {
	names, err := json.Marshal(namespaces)
	if err != nil {
		return "", fmt.Errorf("encoding namespaces: %w", err)
	}
	return render("install.yaml", "$(NAMESPACES)", string(names))
}

// Apply creates a policy for a namespace. It is in force once Kyverno has registered a webhook for it.
func (c *Controller) Apply(ctx context.Context, policy Policy, namespace string) error {
	text, err := policy.manifest(namespace)
	if err == nil {
		err = c.kubectl(ctx, text, "apply", "-f", "-")
	}
	if err != nil {
		return fmt.Errorf("creating Kyverno's policy: %w", err)
	}
	return nil
}

func (p Policy) manifest(namespace string) (string, error) {
	return render(string(p), "$(NAMESPACE)", namespace)
}

// render returns a file with a value for its variable.
func render(name, variable, value string) (string, error) {
	text, err := manifests.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("reading a manifest: %w", err)
	}
	return strings.ReplaceAll(string(text), variable, value), nil
}

func (c *Controller) kubectl(ctx context.Context, input string, args ...string) error {
	command := exec.CommandContext(ctx, c.plane.Kubectl, args...)
	command.Stdin = strings.NewReader(input)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
