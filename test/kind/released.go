package main

import (
	"context"
	"path/filepath"
	"strings"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// releasedFile installs with kubectl apply -f, from the folders of releases, as a person does who has nothing else.
type releasedFile struct {
	proof *proof
	file  string
}

func (r releasedFile) name() string { return "kubectl apply -f " + r.file }

func (r releasedFile) path(version string) string {
	return filepath.Join(r.proof.options.releases, version, r.file)
}

func (r releasedFile) install(ctx context.Context, version string) error {
	_, err := r.proof.cluster.kubectl(ctx, "apply", "-f", r.path(version))
	return err
}

func (r releasedFile) uninstall(ctx context.Context) error {
	_, err := r.proof.cluster.kubectl(ctx, "delete", "-f", r.path(r.proof.options.version), "--wait=true", "--ignore-not-found")
	return err
}

// releasedChart installs the chart of a release with its default values.
type releasedChart struct{ proof *proof }

func (releasedChart) name() string { return "helm install handoff-VERSION.tgz" }

func (r releasedChart) install(ctx context.Context, version string) error {
	archive := filepath.Join(r.proof.options.releases, version, "handoff-"+strings.TrimPrefix(version, "v")+".tgz")
	_, err := command(ctx, "", r.proof.options.helm, "upgrade", "--install", "handoff", archive,
		"--kubeconfig", r.proof.cluster.controlPlane.Kubeconfig, "--namespace", handofftest.Namespace, "--create-namespace")
	return err
}

func (r releasedChart) uninstall(ctx context.Context) error { return chart(r).uninstall(ctx) }

// released returns the steps for a way to install releases: the older one, the newer one, back, and again.
func (p *proof) released(by way) []step {
	older, newer := p.options.version, p.options.next
	return []step{
		{"install " + older + ": " + by.name(), p.installed(by)},
		p.diagnosed(older, p.releasedPluginOf),
		{"upgrade to " + newer, p.changed("upgrade", by, newer)},
		{"downgrade to " + older, p.changed("downgrade", by, older)},
		{"upgrade to " + newer + " again", p.changed("upgrade again", by, newer)},
		p.diagnosed(newer, p.releasedPluginOf),
		p.uninstalled(by),
	}
}
