package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ownership-handoff/handoff/test/objects"
)

// applyGuard installs the guard with a kustomize patch, which may be empty.
func (p *proof) applyGuard(ctx context.Context, patch string) error {
	folder := filepath.Join(p.root, "bin", "e2e-kind", "guard")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("creating a directory for the guard: %w", err)
	}
	text := "resources: [../../../manifests/guard]\n" + patch
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing the guard's kustomization: %w", err)
	}
	_, err := p.cluster.kubectl(ctx, "apply", "-k", folder)
	return err
}

// guarded returns a step that enables the guard, and then makes the webhook unavailable during the stream.
func (p *proof) guarded(disturb func(context.Context) ([]string, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := p.applyGuard(ctx, ""); err != nil {
			return err
		}
		time.Sleep(5 * time.Second) // the API server compiles policies in the background
		return errors.Join(p.under("with the guard", disturb)(ctx), p.applyGuard(ctx, objects.DormantGuard))
	}
}

// removeGuard removes the guard and verifies that nothing is left behind.
func (p *proof) removeGuard(ctx context.Context) error {
	if _, err := p.cluster.kubectl(ctx, "delete", "-k", "manifests/guard", "--ignore-not-found"); err != nil {
		return err
	}
	return p.nothingLeft(ctx, "app.kubernetes.io/part-of=handoff")
}
