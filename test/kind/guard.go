package main

import (
	"context"
	"time"

	"github.com/ownership-handoff/handoff/test/objects"
)

// guardFolder is the folder of the guard's manifests for the cluster.
func (p *proof) guardFolder() string {
	return objects.GuardFolder(p.cluster.controlPlane.PoliciesVersion())
}

// applyGuard installs the guard.
func (p *proof) applyGuard(ctx context.Context) error {
	_, err := p.cluster.kubectl(ctx, "apply", "-k", p.guardFolder())
	return err
}

// guarded returns a step that enables the guard, and then makes the webhook unavailable during the stream. The guard stays
// installed until the uninstallation.
func (p *proof) guarded(disturb func(context.Context) ([]string, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		if plane := p.cluster.controlPlane; !plane.HasMutatingPolicies() {
			p.figures.add("with the guard", "not run: Kubernetes "+plane.Version()+" serves no MutatingAdmissionPolicy")
			return nil
		}
		if err := p.applyGuard(ctx); err != nil {
			return err
		}
		time.Sleep(5 * time.Second) // the API server compiles policies in the background, and the webhook checks for them
		return p.under("with the guard", disturb)(ctx)
	}
}

// removeGuard removes the guard, which the end-to-end suite installs as well.
func (p *proof) removeGuard(ctx context.Context) error {
	if !p.cluster.controlPlane.HasMutatingPolicies() {
		return nil
	}
	_, err := p.cluster.kubectl(ctx, "delete", "-k", p.guardFolder(), "--ignore-not-found")
	return err
}
