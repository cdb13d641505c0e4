package main

import "context"

const (
	apply        = "kubectl -n shop apply -f web.yaml"
	applyWithout = "grep -v replicas: web.yaml | kubectl -n shop apply -f -"
	dryRun       = "kubectl -n shop apply --dry-run=server -o jsonpath='{.spec.replicas}' -f web.yaml"
	optIn        = "kubectl annotate namespace shop ownership-handoff.io/mode=enforce"

	applier    = "kubectl-client-side-apply (Update)"
	asks3      = "replicas 3"
	autoscaler = "kube-controller-manager (Update, scale)"
)

// The rows of the table at the end.
const (
	unchanged = "the same manifest is applied"
	again     = "and applied again"
	letGo     = "replicas is deleted from the manifest"
)

// play tells the story from the beginning to the end, or to the first step that does not end as told.
func (d *demo) play(ctx context.Context) error {
	d.page.title("What does kubectl apply do to a Deployment that an autoscaler has scaled?")
	d.page.title("API server, autoscaler and kubectl are real. Nodes are missing, so --min=7 stands for the load.")
	d.page.title("The autoscaler looks every 2 seconds here, and every 15 by default.")
	d.page.heading("Without handoff")
	if err := d.steps(ctx, withoutHandoff()); err != nil {
		return err
	}
	d.page.heading("With handoff")
	if err := d.install(ctx); err != nil {
		return err
	}
	return d.steps(ctx, withHandoff())
}

func withoutHandoff() []step {
	return []step{{
		says:     "A team applies its manifest, which asks for 3 replicas.",
		commands: []string{"grep replicas: web.yaml", "kubectl create namespace shop", apply},
		want:     expected{replicas: 3, owner: applier, lastApplied: asks3},
		later:    true,
	}, {
		says:     "The load needs 7, and an autoscaler sees to it.",
		commands: []string{"kubectl -n shop autoscale deployment web --min=7 --max=20"},
		want:     expected{replicas: 7, owner: autoscaler, lastApplied: asks3},
		later:    true,
	}, {
		says:     "The pipeline runs again and applies the same manifest: under full load, 4 of 7 replicas go.",
		commands: []string{apply},
		want:     expected{replicas: 3, owner: applier, lastApplied: asks3},
		row:      unchanged,
	}, {
		says:     "The team deletes replicas from the manifest, as the documentation advises: now 6 of 7 go.",
		commands: []string{applyWithout},
		want:     expected{replicas: 1, owner: applier, lastApplied: none},
		row:      letGo,
	}, {
		says:     "The team takes that back. It costs the next outage.",
		commands: []string{apply},
		want:     expected{replicas: 3, owner: applier, lastApplied: asks3},
		row:      again,
	}}
}

func withHandoff() []step {
	return []step{{
		says:     "The pipeline applies the same manifest: all 7 stay, and last-applied lets go of replicas.",
		commands: []string{apply},
		want:     expected{replicas: 7, owner: autoscaler, lastApplied: none, warnings: 1},
		row:      unchanged,
	}, {
		says:     "And again: nothing at all is written.",
		commands: []string{apply},
		want:     expected{replicas: 7, owner: autoscaler, lastApplied: none, warnings: 1, unwritten: true},
		row:      again,
	}, {
		says:     "The team deletes replicas from the manifest, as the warning says: all 7 stay, no more warnings.",
		commands: []string{applyWithout},
		want:     expected{replicas: 7, owner: autoscaler, lastApplied: none, unwritten: true},
		row:      letGo,
	}}
}
