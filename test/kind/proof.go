package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// proof is a run of the steps on a cluster.
type proof struct {
	cluster *cluster
	root    string
	options options
	figures *figures
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
	withManager, selfSigned := kustomization{p, "overlays/cert-manager"}, kustomization{p, "overlays/self-signed"}
	byDefault, byHelm := kustomization{p, "overlays/default"}, chart{p}
	const suite = "end-to-end suite against the webhook in the cluster"
	proofs := map[string][]step{
		"cert-manager": {
			{"install: " + withManager.name(), p.installed(withManager)},
			p.diagnosed(p.options.version, p.pluginOf),
			{suite, p.suite},
			{"rolling upgrade", p.changed("rolling upgrade", withManager, p.options.next)},
			{"certificate renewal by cert-manager", p.rotated("certificate renewal by cert-manager", p.renew)},
			{"deletion of all webhook pods at once, with the guard", p.guarded(p.deletePods)},
			{"webhook outage, with the guard", p.guarded(p.outage)},
			p.uninstalled(withManager),
		},
		"self-signed": {
			{"install: " + selfSigned.name(), p.installed(selfSigned)},
			p.diagnosed(p.options.version, p.pluginOf),
			{"certificate rotation by the webhook", p.rotated("certificate rotation by the webhook", p.rotate)},
			p.uninstalled(selfSigned),
		},
		"default": {
			{"install: " + byDefault.name(), p.installed(byDefault)},
			p.diagnosed(p.options.version, p.pluginOf),
			{"applies", p.keeps("applies with " + byDefault.name())},
			{"rejection of an unknown mode", p.refusesUnknownModes},
			p.uninstalled(byDefault),
		},
		"chart": {
			{"install: " + byHelm.name(), p.installed(byHelm)},
			p.diagnosed(p.options.version, p.pluginOf),
			{suite, p.suite},
			{"helm test", p.helmTest},
			{"rolling upgrade", p.changed("rolling upgrade", byHelm, p.options.next)},
			p.uninstalled(byHelm),
		},
		"release":       p.released(releasedFile{p, "handoff-default.yaml"}),
		"release-chart": p.released(releasedChart{p}),
	}
	var wanted []step
	for _, name := range strings.Split(p.options.ways, ",") {
		if proofs[name] == nil {
			return fmt.Errorf("--ways: unknown way %q: want some of %s,release,release-chart", name, ways)
		}
		wanted = append(wanted, proofs[name]...)
	}
	return steps(ctx, wanted...)
}

func steps(ctx context.Context, all ...step) error {
	for i, s := range all {
		report("step %d of %d: %s", i+1, len(all), s.name)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (p *proof) installed(by way) func(context.Context) error {
	return func(ctx context.Context) error {
		began := time.Now()
		if err := by.install(ctx, p.options.version); err != nil {
			return err
		}
		if err := p.available(ctx); err != nil {
			return errors.Join(err, p.state(ctx))
		}
		p.figures.add(by.name(), fmt.Sprintf("ready after %.0f s", time.Since(began).Seconds()))
		return nil
	}
}

// state returns the descriptions of the webhook's pods as an error, for a webhook that does not become ready.
func (p *proof) state(ctx context.Context) error {
	pods, _ := p.cluster.handoff(ctx, "describe", "pods")
	return errors.New(tail(pods, 60))
}

// suite runs the unmodified end-to-end suite against this cluster.
func (p *proof) suite(ctx context.Context) error {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-timeout=30m", "-parallel=4", "-run="+p.options.tests, "./test/e2e")
	cmd.Dir = p.root
	cmd.Env = append(os.Environ(), "E2E_KUBECONFIG="+p.cluster.controlPlane.Kubeconfig)
	output, err := cmd.CombinedOutput()
	passed, skipped := strings.Count(string(output), "--- PASS: "), strings.Count(string(output), "--- SKIP: ")
	if err != nil {
		log := p.webhook.Log() //nolint:contextcheck // the log is most useful after the context has ended
		return fmt.Errorf("%w\n%s\n%s", err, tail(log, 20), failuresOf(string(output)))
	}
	p.figures.add("end-to-end suite", fmt.Sprintf("%d tests passed", passed),
		fmt.Sprintf("%d skipped because they start their own webhooks", skipped),
		fmt.Sprintf("%.0f s", time.Since(began).Seconds()))
	return nil
}

// failuresOf returns the end of what go test -v prints about each failed test. The lines of parallel tests are mixed: a line
// "=== NAME  TestName" names the test that prints the next ones.
func failuresOf(output string) string {
	printed := map[string][]string{}
	test, failed := "", []string{}
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "=== ") && len(fields) > 2:
			test = fields[2]
		case strings.Contains(line, "--- FAIL: ") && len(fields) > 2:
			failed = append(failed, fields[2])
		default:
			printed[test] = append(printed[test], line)
		}
	}
	var text strings.Builder
	for _, name := range failed {
		fmt.Fprintf(&text, "--- FAIL: %s\n%s\n", name, tail(strings.Join(printed[name], "\n"), 40))
	}
	return text.String()
}

// keeps returns a step that only runs the stream.
func (p *proof) keeps(what string) func(context.Context) error {
	return p.under(what, func(context.Context) ([]string, error) { return nil, nil })
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
		p.figures.add(what, append(s.figures(), results...)...)
		return s.flawless()
	}
}

func (p *proof) helmTest(ctx context.Context) error {
	_, err := command(ctx, "", p.options.helm, "test", "handoff",
		"--kubeconfig", p.cluster.controlPlane.Kubeconfig, "--namespace", handofftest.Namespace)
	return err
}

// refusesUnknownModes tests the policy that is part of the default overlay.
func (p *proof) refusesUnknownModes(ctx context.Context) error {
	_, err := p.cluster.kubectl(ctx, "annotate", "namespace", "default", "ownership-handoff.io/mode=enforced")
	if err == nil || !strings.Contains(err.Error(), "enforce") {
		return fmt.Errorf("an unknown mode should be rejected with a list of the modes, got: %w", err)
	}
	p.figures.add("unknown mode on a namespace", "rejected")
	return nil
}
