// Command demo shows on a real control plane what an apply does to a Deployment that an autoscaler has scaled: first
// without handoff, then with it. It fails if the result of any step differs from the expected one.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func main() { handofftest.Main("demo", run) }

// run runs the steps. The transcript goes to standard output, progress and failures to standard error.
func run(ctx context.Context, root string, cluster *handofftest.Cluster) error {
	fmt.Fprintln(os.Stderr, "control plane: webhook ready, not yet registered")

	d, err := newDemo(cluster, root)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := d.play(ctx); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil {
		return fmt.Errorf("step %d (%s): %w\n%s", d.number, d.sentence, err, tail(cluster.Webhook.Log()))
	}
	d.page.table(d.rows)
	d.page.conclude(d.number, time.Since(began))
	return nil
}

// tail returns the end of the webhook's log.
func tail(log string) string {
	const most = 20
	lines := strings.Split(strings.TrimSpace(log), "\n")
	lines = lines[max(0, len(lines)-most):]
	return "the end of the webhook's log:\n\t" + strings.Join(lines, "\n\t")
}
