// Command demo shows on a real control plane what an apply does to a Deployment that an autoscaler has scaled: first
// without handoff, then with it. It fails if the result of any step differs from the expected one.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

func main() { handofftest.Main("demo", run) }

// run runs the steps. The transcript goes to standard output, progress and failures to standard error.
func run(ctx context.Context, root string, cluster *handofftest.Cluster) error {
	fmt.Fprintln(os.Stderr, "control plane: webhook ready, not yet registered")
	api, err := client.NewWithWatch(cluster.Plane.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("client for the control plane: %w", err)
	}
	d := &demo{
		page: newPage(), web: web{api}, dir: filepath.Join(root, "test", "demo"), bin: filepath.Dir(cluster.Plane.Kubectl),
		rows: []row{{step: unchanged}, {step: again}, {step: removed}},
	}
	began := time.Now()
	if err := d.play(ctx, cluster.Webhook); err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil {
		lines := strings.Split(strings.TrimSpace(cluster.Webhook.Log()), "\n")
		return fmt.Errorf("step %d (%s): %w\nthe end of the webhook's log:\n\t%s", d.number, d.sentence, err,
			strings.Join(lines[max(0, len(lines)-20):], "\n\t"))
	}
	d.page.table(d.rows)
	fmt.Fprintf(d.page.out, "\nAll %d steps ended as expected, in %.0f s.\n", d.number, time.Since(began).Seconds())
	return nil
}
