// Package memory measures what the webhook's knowledge of a large cluster takes.
package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/ownership-handoff/handoff/test/bench/table"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

// Measure fills a real API server and starts a process for each cache: the command that hold makes, which prints what
// Held returns.
func Measure(
	ctx context.Context, progress io.Writer, hold func(ctx context.Context, kubeconfig, which string) (*exec.Cmd, error),
) (rows []table.Row, err error) {
	plane, err := controlplane.Start(ctx, controlplane.Options{Output: progress, WithoutControllerManager: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if err := fill(ctx, plane.Config, progress); err != nil {
		return nil, err
	}
	held := map[string]float64{}
	for _, which := range []string{Facts, Whole} {
		cmd, err := hold(ctx, plane.Kubeconfig, which)
		if err != nil {
			return nil, err
		}
		if held[which], err = output(cmd); err != nil {
			return nil, fmt.Errorf("process with cache %s: %w", which, err)
		}
		fmt.Fprintf(progress, "memory: cache %s holds %.1f MB\n", which, held[which]/1e6)
	}
	describe := func(which string) string {
		return fmt.Sprintf("%.1f MB, %.0f B per object", held[which]/1e6, held[which]/(autoscalers+namespaces))
	}
	return []table.Row{{
		What:      fmt.Sprintf("heap held, %d HPAs, %d namespaces", autoscalers, namespaces),
		Handoff:   describe(Facts),
		Reference: describe(Whole) + ", typed cache without transforms",
		Ratio:     table.Ratio{Value: held[Facts] / held[Whole]},
	}}, nil
}

func output(cmd *exec.Cmd) (float64, error) {
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
}
