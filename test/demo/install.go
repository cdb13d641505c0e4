package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"
)

// install registers the webhook and enables handoff in the namespace.
func (d *demo) install(ctx context.Context) error {
	d.begin("handoff is installed and enabled in namespace shop. A dry run shows what an apply does now.")
	if err := d.cluster.Webhook.Register(ctx); err != nil {
		return err
	}
	d.handoff = true
	if _, err := d.run(ctx, []string{optIn}); err != nil {
		return err
	}
	const want = "7"
	output, err := d.dryRunUntil(ctx, want)
	if err != nil {
		return err
	}
	d.page.command(dryRun)
	d.page.output(output)
	_, got, err := d.history.live(ctx)
	if err != nil {
		return err
	}
	d.page.state(got)
	return d.page.verdict([]fact{{name: "dry run", want: want, got: lastLine(output), shown: true}}, 0)
}

// lastLine returns the output of kubectl itself, which follows the warnings.
func lastLine(output string) string { return output[strings.LastIndex(output, "\n")+1:] }

// dryRunUntil repeats the dry run until it prints what is wanted, or until the timeout: the webhook sees a namespace's
// annotation a moment after it is stored, and nothing signals when.
func (d *demo) dryRunUntil(ctx context.Context, want string) (output string, err error) {
	// Do not use the context of the poll: it would interrupt the last dry run, and its output would be lost.
	err = poll(ctx, func(context.Context) (bool, error) {
		output, err = d.shell.run(ctx, dryRun)
		if err != nil {
			return false, fmt.Errorf("%s: %w: %s", dryRun, err, output)
		}
		return lastLine(output) == want, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return output, nil
	}
	return output, err
}
