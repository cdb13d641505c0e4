// Package memory measures the memory of the webhook's cache for a large cluster.
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

// Measure fills a real API server and runs a process for each cache: the command that newProcess returns, which prints the
// result of Held.
func Measure(
	ctx context.Context, progress io.Writer, newProcess func(ctx context.Context, kubeconfig, which string) (*exec.Cmd, error),
) (rows []table.Row, err error) {
	controlPlane, err := controlplane.Start(ctx, controlplane.Options{Output: progress, WithoutControllerManager: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, controlPlane.Stop()) }()
	if err := fill(ctx, controlPlane.Config, progress); err != nil {
		return nil, err
	}
	sizes := map[string]float64{}
	for _, which := range []string{Facts, Whole, Scalers} {
		if which == Scalers {
			if err := fillScalers(ctx, controlPlane.Config, progress); err != nil {
				return nil, err
			}
		}
		cmd, err := newProcess(ctx, controlPlane.Kubeconfig, which)
		if err != nil {
			return nil, err
		}
		if sizes[which], err = output(cmd); err != nil {
			return nil, fmt.Errorf("measuring the cache %s: %w", which, err)
		}
		fmt.Fprintf(progress, "memory: cache %s takes %.1f MB\n", which, sizes[which]/1e6)
	}
	describe := func(which string) string {
		return fmt.Sprintf("%.1f MB, %.0f B per object", sizes[which]/1e6, sizes[which]/(autoscalers+namespaces))
	}
	return []table.Row{{
		What:      fmt.Sprintf("heap of the cache, %d HPAs, %d namespaces", autoscalers, namespaces),
		Handoff:   describe(Facts),
		Reference: describe(Whole) + ", typed cache without transforms",
		Ratio:     table.Ratio{Value: sizes[Facts] / sizes[Whole]},
	}, {
		What:      fmt.Sprintf("the same with %d ScaledObjects", scaledObjects),
		Handoff:   fmt.Sprintf("%.1f MB, %.0f B per ScaledObject", sizes[Scalers]/1e6, (sizes[Scalers]-sizes[Facts])/scaledObjects),
		Reference: describe(Facts) + ", without ScaledObjects",
		Ratio:     table.Ratio{Value: sizes[Scalers] / sizes[Facts]},
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
