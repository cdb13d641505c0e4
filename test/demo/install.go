package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"
)

// install registers the webhook and opts the namespace in.
func (d *demo) install(ctx context.Context) error {
	d.begin("handoff is installed, and namespace shop opts in. A dry run shows what an apply would do from now on.")
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

// lastLine is what kubectl itself prints, below the warnings.
func lastLine(output string) string { return output[strings.LastIndex(output, "\n")+1:] }

// dryRunUntil repeats the dry run until it prints what is wanted, or patience does: the webhook learns of a namespace's
// annotation a moment after it is stored, and nothing tells when.
func (d *demo) dryRunUntil(ctx context.Context, want string) (output string, err error) {
	// Not with the context of the poll: the last dry run must not end halfway, or nobody would see what it says.
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
