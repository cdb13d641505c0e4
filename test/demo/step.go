package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// step is a sentence of the transcript, the commands it describes, and the expected result.
type step struct {
	sentence string
	commands []string
	want     expected
	later    bool   // the result is reached some time after the commands
	row      string // the row of the summary table that it fills
}

// demo is a run of the demo.
type demo struct {
	cluster  *handofftest.Cluster
	history  history
	shell    shell
	page     page
	number   int    // of the current step
	sentence string // of the current step
	handoff  bool   // whether handoff is installed
	rows     []row
}

func newDemo(cluster *handofftest.Cluster, root string) (*demo, error) {
	api, err := client.NewWithWatch(cluster.Plane.Config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("client for the control plane: %w", err)
	}
	return &demo{
		cluster: cluster,
		history: history{api: api},
		shell:   shell{dir: filepath.Join(root, "test", "demo"), bin: filepath.Dir(cluster.Plane.Kubectl)},
		page:    newPage(),
		rows:    []row{{step: unchanged}, {step: again}, {step: removed}},
	}, nil
}

func (d *demo) begin(sentence string) {
	d.number++
	d.sentence = sentence
	d.page.step(d.number, sentence)
}

func (d *demo) steps(ctx context.Context, steps []step) error {
	for _, s := range steps {
		d.begin(s.sentence)
		run := d.apply
		if s.later {
			run = d.arrange
		}
		if err := run(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// run runs commands, prints them with their output, and returns the output of the last one.
func (d *demo) run(ctx context.Context, commands []string) (output string, err error) {
	for _, command := range commands {
		d.page.command(command)
		output, err = d.shell.run(ctx, command)
		d.page.output(output)
		if err != nil {
			return output, fmt.Errorf("%s: %w", command, err)
		}
	}
	return output, nil
}

// arrange runs commands and waits for their result.
func (d *demo) arrange(ctx context.Context, s step) error {
	if _, err := d.run(ctx, s.commands); err != nil {
		return err
	}
	return d.await(ctx, s.want)
}

// await waits until the live object has the expected replicas.
func (d *demo) await(ctx context.Context, want expected) error {
	began := time.Now()
	got, err := d.history.reached(ctx, want.replicas)
	if err != nil {
		return err
	}
	d.page.state(got)
	return d.page.verdict(want.facts(got), time.Since(began))
}

// apply runs commands, the last of which is an apply, and checks what the apply did to the object.
func (d *demo) apply(ctx context.Context, s step) error {
	before, err := d.history.settled(ctx)
	if err != nil {
		return err
	}
	output, err := d.run(ctx, s.commands)
	if err != nil {
		return err
	}
	got, err := d.history.lowest(ctx, before)
	if err != nil {
		return err
	}
	d.page.state(got)
	facts := append(s.want.facts(got), s.want.traces(before, got, output)...)
	if err := d.page.verdict(facts, 0); err != nil {
		return err
	}
	d.fill(s.row, before, got)
	if got.replicas == before.replicas {
		return nil
	}
	d.page.note("The autoscaler scales it back:")
	return d.await(ctx, expected{replicas: before.replicas, owner: autoscaler, lastApplied: got.lastApplied})
}

// fill writes the change of the replicas into its row of the summary table.
func (d *demo) fill(name string, before, after state) {
	cell := fmt.Sprintf("%d -> %d", before.replicas, after.replicas)
	switch {
	case after.replicas < before.replicas:
		cell += ", outage"
	case after.resourceVersion == before.resourceVersion:
		cell += ", no write"
	}
	for i := range d.rows {
		if d.rows[i].step != name {
			continue
		}
		if d.handoff {
			d.rows[i].with = cell
		} else {
			d.rows[i].without = cell
		}
	}
}
