package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// dormant limits the guard to namespaces that no step of the proof has. The guard is not removed before the end: an API
// server that has lost a binding with parameters follows them no more when it comes back
// (https://github.com/kubernetes/kubernetes/issues/130887).
const dormant = `
patches:
- target: {kind: MutatingAdmissionPolicyBinding}
  patch: |-
    - op: add
      path: /spec/matchResources
      value: {namespaceSelector: {matchExpressions: [{key: e2e-guard, operator: Exists}]}}
`

// applyGuard installs the guard, with a patch or without.
func (p *proof) applyGuard(ctx context.Context, patch string) error {
	folder := filepath.Join(p.root, "bin", "e2e-kind", "guard")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("folder of the guard: %w", err)
	}
	text := "resources: [../../../manifests/guard]\n" + patch
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("kustomization of the guard: %w", err)
	}
	_, err := p.cluster.kubectl(ctx, "apply", "-k", folder)
	return err
}

// guarded has the guard at work, and takes the webhook away under the stream.
func (p *proof) guarded(takeAway func(context.Context) ([]string, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := p.applyGuard(ctx, ""); err != nil {
			return err
		}
		time.Sleep(5 * time.Second) // the API server compiles policies in the background
		return errors.Join(p.under("with the guard", takeAway)(ctx), p.applyGuard(ctx, dormant))
	}
}

// removeGuard removes the guard, after which nothing at all is left.
func (p *proof) removeGuard(ctx context.Context) error {
	if _, err := p.cluster.kubectl(ctx, "delete", "-k", "manifests/guard", "--ignore-not-found"); err != nil {
		return err
	}
	return p.nothingLeft(ctx, "app.kubernetes.io/part-of=handoff")
}
