// Package memory measures the memory of the webhook's cache for a large cluster.
package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/ownership-handoff/handoff/test/bench/table"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

// Measure fills a real API server and runs a process for each cache: the command that newProcess returns, which prints the
// result of Held.
func Measure(ctx context.Context, progress io.Writer, newProcess NewProcess) (rows []table.Row, err error) {
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
		held, err := newProcess.hold(ctx, controlPlane.Kubeconfig, which, autoscalers)
		if err != nil {
			return nil, err
		}
		sizes[which] = float64(held.Bytes)
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

// NewProcess returns a command that prints the result of Held as JSON.
type NewProcess func(ctx context.Context, kubeconfig, which string, autoscalers int) (*exec.Cmd, error)

func (n NewProcess) hold(ctx context.Context, kubeconfig, which string, autoscalers int) (held Holding, err error) {
	cmd, err := n(ctx, kubeconfig, which, autoscalers)
	if err != nil {
		return held, err
	}
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	if err != nil {
		return held, fmt.Errorf("measuring the cache %s: %w", which, err)
	}
	return held, nil
}
