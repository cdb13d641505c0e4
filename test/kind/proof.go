package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// proof is a run of the steps on a cluster.
type proof struct {
	cluster *cluster
	root    string
	options options
	webhook *handofftest.Installed
}

// step is a step of the proof. Its name is printed before it runs, and with its error.
type step struct {
	name string
	do   func(context.Context) error
}

// ways are the names of the ways to install, in the default order.
const ways = "cert-manager,self-signed,default,chart"

// all installs, tests and uninstalls handoff each way in turn.
func (p *proof) all(ctx context.Context) error {
	withManager, selfSigned, byDefault := p.kustomization("overlays/cert-manager"), p.kustomization("overlays/self-signed"), p.kustomization("overlays/default")
	byHelm := p.chart("helm install", func(version string) []string {
		return []string{filepath.Join(p.root, "manifests", "chart"), "--set", "image.repository=" + p.options.image, "--set", "image.tag=" + version}
	})
	releasedChart := p.chart("helm install handoff-VERSION.tgz", func(version string) []string {
		return []string{p.release(version, "handoff-"+strings.TrimPrefix(version, "v")+".tgz")} // with its default values
	})
	suite := step{"end-to-end suite against the webhook in the cluster", p.suite}
	proofs := map[string][]step{
		"cert-manager": p.around(withManager, suite,
			p.changed("rolling upgrade", withManager, p.options.next),
			p.rotated("certificate renewal by cert-manager", p.renew),
			step{"deletion of all webhook pods at once, with the guard", p.guarded(p.deletePods)},
			step{"webhook outage, with the guard", p.guarded(p.outage)}),
		"self-signed": p.around(selfSigned, p.rotated("certificate rotation by the webhook", p.rotate)),
		"default": p.around(byDefault,
			step{"applies", p.under("applies with "+byDefault.name, func(context.Context) ([]string, error) { return nil, nil })},
			step{"rejection of an unknown mode", p.refusesUnknownModes}),
		"chart": p.around(byHelm, suite,
			step{"helm test", func(ctx context.Context) error { return p.helm(ctx, "test", "handoff") }},
			p.changed("rolling upgrade", byHelm, p.options.next)),
		"release":       p.releases(p.released("handoff-default.yaml")),
		"release-chart": p.releases(releasedChart),
	}
	var wanted []step
	for _, name := range strings.Split(p.options.ways, ",") {
		if proofs[name] == nil {
			return fmt.Errorf("--ways: unknown way %q: want some of %s,release,release-chart", name, ways)
		}
		wanted = append(wanted, proofs[name]...)
	}
	for i, s := range wanted {
		report("step %d of %d: %s", i+1, len(wanted), s.name)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// around returns the steps of a way to install: steps between the installation with the doctor, and the uninstallation.
func (p *proof) around(by way, between ...step) []step {
	return slices.Concat([]step{p.installed(by), p.diagnosed(p.options.version, p.pluginOf)}, between, []step{p.uninstalled(by)})
}

// releases returns the steps for a way to install releases: the older one, the newer one, back, and again.
func (p *proof) releases(by way) []step {
	older, newer := p.options.version, p.options.next
	return []step{
		p.installed(by),
		p.diagnosed(older, p.releasedPluginOf),
		p.changed("upgrade to "+newer, by, newer),
		p.changed("downgrade to "+older, by, older),
		p.changed("upgrade to "+newer+" again", by, newer),
		p.diagnosed(newer, p.releasedPluginOf),
		p.uninstalled(by),
	}
}

func (p *proof) installed(by way) step {
	return step{"install: " + by.name, func(ctx context.Context) error {
		began := time.Now()
		if err := by.install(ctx, p.options.version); err != nil {
			return err
		}
		if err := p.available(ctx); err != nil {
			return errors.Join(err, p.state(ctx))
		}
		result(by.name, fmt.Sprintf("ready after %.0f s", time.Since(began).Seconds()))
		return nil
	}}
}

// state returns the descriptions of the webhook's pods as an error, for a webhook that does not become ready.
func (p *proof) state(ctx context.Context) error {
	pods, _ := p.cluster.handoff(ctx, "describe", "pods")
	return errors.New(process.Tail(pods, 60))
}

// suite runs the unmodified end-to-end suite against this cluster.
func (p *proof) suite(ctx context.Context) error {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-json", "-timeout=30m", "-parallel=4", "-run="+p.options.tests, "./test/e2e")
	cmd.Dir = p.root
	cmd.Env = append(os.Environ(), "E2E_KUBECONFIG="+p.cluster.controlPlane.Kubeconfig)
	output, err := cmd.Output()
	ended, printed := map[string]int{}, map[string]string{} // by the result, and by the test
	var failures strings.Builder
	for line := range bytes.Lines(output) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(line, &event) != nil {
			failures.Write(line) // go itself has failed
			continue
		}
		printed[event.Test] += event.Output
		if event.Test != "" {
			ended[event.Action]++
		}
		if event.Action == "fail" {
			fmt.Fprintf(&failures, "%s:\n%s\n", event.Test, process.Tail(printed[event.Test], 40))
		}
	}
	if err != nil {
		log := p.webhook.Log() //nolint:contextcheck // the log is most useful after the context has ended
		return fmt.Errorf("%w\n%s\n%s", err, process.Tail(log, 20), &failures)
	}
	result("end-to-end suite", fmt.Sprintf("%d tests passed", ended["pass"]),
		fmt.Sprintf("%d skipped because they start their own webhooks", ended["skip"]),
		fmt.Sprintf("%.0f s", time.Since(began).Seconds()))
	return nil
}

// under returns a step that runs do during the stream. Every apply of the stream must succeed and keep the replicas.
func (p *proof) under(what string, do func(context.Context) ([]string, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		s, err := newStream(ctx, p.cluster)
		if err != nil {
			return err
		}
		results, err := do(ctx)
		if err := errors.Join(err, s.stop(ctx)); err != nil {
			return err
		}
		applies, err := s.result()
		result(what, append([]string{applies}, results...)...)
		return err
	}
}

// refusesUnknownModes tests the policy that is part of the default overlay.
func (p *proof) refusesUnknownModes(ctx context.Context) error {
	_, err := p.cluster.kubectl(ctx, "annotate", "namespace", "default", "ownership-handoff.io/mode=enforced")
	if err == nil || !strings.Contains(err.Error(), "enforce") {
		return fmt.Errorf("an unknown mode should be rejected with a list of the modes, got: %w", err)
	}
	result("unknown mode on a namespace", "rejected")
	return nil
}
