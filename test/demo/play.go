package main

import (
	"context"
	"fmt"
	"strings"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

const (
	apply        = "kubectl -n shop apply -f web.yaml"
	applyWithout = "grep -v replicas: web.yaml | kubectl -n shop apply -f -"
	dryRun       = "kubectl -n shop apply --dry-run=server -o jsonpath='{.spec.replicas}' -f web.yaml"
	optIn        = "kubectl annotate namespace shop ownership-handoff.io/mode=enforce"

	applier    = "kubectl-client-side-apply (Update)"
	replicas3  = "replicas 3"
	autoscaler = "kube-controller-manager (Update, scale)"
)

// The rows of the summary table.
const (
	unchanged = "apply the unchanged manifest"
	again     = "apply it again"
	removed   = "apply after removing replicas"
)

// play runs all steps, up to the first one that fails.
func (d *demo) play(ctx context.Context, hook *handofftest.Webhook) error {
	fmt.Fprintln(d.page.out, "What does kubectl apply do to a Deployment that an autoscaler has scaled?")
	fmt.Fprintln(d.page.out, "The API server, the autoscaler and kubectl are real. There are no nodes, so --min=7 stands for load.")
	fmt.Fprintln(d.page.out, "The autoscaler syncs every 2 seconds here (default: every 15 seconds).")
	d.page.heading("Without handoff")
	if err := d.steps(ctx, withoutHandoff); err != nil {
		return err
	}
	d.page.heading("With handoff")
	if err := d.install(ctx, hook); err != nil {
		return err
	}
	return d.steps(ctx, withHandoff)
}

// install registers the webhook, enables handoff in the namespace, and repeats a dry run until it keeps the replicas: the webhook sees
// a namespace's annotation a moment after it is stored, and nothing signals when.
func (d *demo) install(ctx context.Context, hook *handofftest.Webhook) error {
	d.begin("handoff is installed and enabled in namespace shop. A dry run shows what an apply does now.")
	if err := hook.Register(ctx); err != nil {
		return err
	}
	d.handoff = true
	if _, err := d.run(ctx, optIn); err != nil {
		return err
	}
	const want = "7"
	var output, kubectls string
	// Do not use the context of the poll: it would interrupt the last dry run, and its output would be lost.
	err := pollOr(ctx, func(context.Context) (_ bool, err error) {
		output, err = d.shell(ctx, dryRun)
		kubectls = output[strings.LastIndex(output, "\n")+1:] // follows the warnings
		return kubectls == want, err
	})
	d.page.command(dryRun, output)
	if err != nil {
		return err
	}
	_, got, err := d.web.live(ctx)
	if err != nil {
		return err
	}
	return d.page.verdict(got, []fact{{"dry run", want, kubectls, true}}, 0)
}

var withoutHandoff = []step{{
	sentence: "A team applies its manifest, which sets 3 replicas.",
	commands: []string{"grep replicas: web.yaml", "kubectl create namespace shop", apply},
	want:     expected{replicas: 3, owner: applier, lastApplied: replicas3},
	later:    true,
}, {
	sentence: "The load requires 7 replicas, and an autoscaler scales to 7.",
	commands: []string{"kubectl -n shop autoscale deployment web --min=7 --max=20"},
	want:     expected{replicas: 7, owner: autoscaler, lastApplied: replicas3},
	later:    true,
}, {
	sentence: "The pipeline applies the same manifest again: under full load, 4 of 7 replicas are removed.",
	commands: []string{apply},
	want:     expected{replicas: 3, owner: applier, lastApplied: replicas3},
	row:      unchanged,
}, {
	sentence: "The team removes replicas from the manifest, as the documentation advises: now 6 of 7 are removed.",
	commands: []string{applyWithout},
	want:     expected{replicas: 1, owner: applier, lastApplied: noReplicas},
	row:      removed,
}, {
	sentence: "The team reverts this change, which causes the next outage.",
	commands: []string{apply},
	want:     expected{replicas: 3, owner: applier, lastApplied: replicas3},
	row:      again,
}}

var withHandoff = []step{{
	sentence: "The pipeline applies the same manifest: handoff keeps all 7, and removes replicas from last-applied.",
	commands: []string{apply},
	want:     expected{replicas: 7, owner: autoscaler, lastApplied: noReplicas, warnings: 2},
	row:      unchanged,
}, {
	sentence: "The pipeline applies it again: nothing is written.",
	commands: []string{apply},
	want:     expected{replicas: 7, owner: autoscaler, lastApplied: noReplicas, warnings: 2, unwritten: true},
	row:      again,
}, {
	sentence: "The team removes replicas from the manifest, as the warning says: handoff keeps all 7, without a warning.",
	commands: []string{applyWithout},
	want:     expected{replicas: 7, owner: autoscaler, lastApplied: noReplicas, unwritten: true},
	row:      removed,
}}
