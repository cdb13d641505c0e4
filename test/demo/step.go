package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// step is a sentence of the transcript, the commands it describes, and the expected result.
type step struct {
	sentence string
	commands []string
	want     expected
	later    bool   // the result is reached some time after the commands
	row      string // the row of the summary table that it fills
}

// expected is the state of the Deployment after a step, and the number of warnings that its last command prints.
type expected struct {
	replicas           int32
	owner, lastApplied string
	warnings           int  // from handoff
	unwritten          bool // the resourceVersion does not change
}

// fact is an expected value and the actual one.
type fact struct {
	name, want, got string
	shown           bool // printed even if it is as expected
}

// facts compares the object with the expectation.
func (e expected) facts(got state) []fact {
	return []fact{
		{"replicas", number(e.replicas), number(got.replicas), true},
		{"owner", e.owner, got.owner, false},
		{"last-applied", e.lastApplied, got.lastApplied, false},
	}
}

func number(n int32) string { return strconv.Itoa(int(n)) }

// demo is a run of the demo.
type demo struct {
	page     page
	web      web
	dir, bin string // contain web.yaml, and the control plane's kubectl
	number   int    // of the current step
	sentence string // of the current step
	handoff  bool   // whether handoff is installed
	rows     []row
}

func (d *demo) begin(sentence string) {
	d.number++
	d.sentence = sentence
	fmt.Fprintf(d.page.out, "\n%d. %s\n", d.number, sentence)
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

// shell runs a command line exactly as the transcript shows it, and returns its standard output and standard error, in order.
func (d *demo) shell(ctx context.Context, line string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "PATH="+d.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	// The processes of a pipeline may outlive the killed shell and keep its output open.
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w", line, err)
	}
	return string(output), err
}

// run runs commands, prints them with their output, and returns the output of the last one.
func (d *demo) run(ctx context.Context, commands ...string) (output string, err error) {
	for _, command := range commands {
		output, err = d.shell(ctx, command)
		d.page.command(command, output)
		if err != nil {
			return output, err
		}
	}
	return output, nil
}

// arrange runs commands and waits for their result.
func (d *demo) arrange(ctx context.Context, s step) error {
	if _, err := d.run(ctx, s.commands...); err != nil {
		return err
	}
	return d.await(ctx, s.want)
}

// await waits until the live object has the expected replicas.
func (d *demo) await(ctx context.Context, want expected) error {
	began := time.Now()
	var got state
	err := pollOr(ctx, func(context.Context) (_ bool, err error) {
		_, got, err = d.web.live(ctx)
		return got.replicas == want.replicas, err
	})
	if err != nil {
		return err
	}
	return d.page.verdict(got, want.facts(got), time.Since(began))
}

// apply runs commands, the last of which is an apply, and checks what the apply did to the object.
func (d *demo) apply(ctx context.Context, s step) error {
	before, err := d.web.settled(ctx)
	if err != nil {
		return err
	}
	output, err := d.run(ctx, s.commands...)
	if err != nil {
		return err
	}
	got, err := d.web.lowest(ctx, before)
	if err != nil {
		return err
	}
	warnings := strings.Count(output, "Warning: handoff: ")
	facts := append(s.want.facts(got), fact{"warnings", strconv.Itoa(s.want.warnings), strconv.Itoa(warnings), s.want.warnings > 0})
	if s.want.unwritten {
		facts = append(facts, fact{"resourceVersion", before.resourceVersion, got.resourceVersion, true})
	}
	if err := d.page.verdict(got, facts, 0); err != nil {
		return err
	}
	d.fill(s.row, before, got)
	if got.replicas == before.replicas {
		return nil
	}
	fmt.Fprintln(d.page.out, "   The autoscaler scales it back:")
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
		switch r := &d.rows[i]; {
		case r.step != name:
		case d.handoff:
			r.with = cell
		default:
			r.without = cell
		}
	}
}
