// Package load measures the webhook under load: the throughput of 500 concurrent writers through the API server, and what happens
// to reviews that arrive faster than the webhook can answer them.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ownership-handoff/handoff/test/bench/kyverno"
	"github.com/ownership-handoff/handoff/test/bench/peers"
	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

const (
	// deployments is the number of objects in each namespace, which the writers share.
	deployments = 20
	// throughputTarget is the lower limit for the throughput with handoff, relative to that with a webhook that only says allowed.
	throughputTarget = 0.95
	// memoryTarget is the upper limit for the webhook's resident memory in bytes.
	memoryTarget = 64 << 20
)

// The namespaces whose throughput is compared.
const (
	allowing = "allow"
	keeping  = "keep"
)

// Measure measures the throughput, and then the webhook alone.
func Measure(ctx context.Context, progress io.Writer) (result table.Result, err error) {
	kyvernos, withoutKyverno := stage.KyvernoSpaces(kyverno.Keep)
	if withoutKyverno != nil {
		fmt.Fprintf(progress, "load: Kyverno is not measured: %v\n", withoutKyverno)
	}
	spaces := spaces(kyvernos)
	s, err := stage.Start(ctx, progress, spaces, deployments)
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err != nil {
		return result, err
	}
	measured, memory, err := underLoad(ctx, progress, s, spaces)
	if err != nil {
		return result, err
	}
	result.Rows = append(reportThroughput(measured), memory...)
	if withoutKyverno != nil {
		result.Rows = append(result.Rows, table.NotMeasured(fmt.Sprintf("%d writers, Kyverno", writers), withoutKyverno))
	}
	err = curve(ctx, progress, s, &result)
	return result, err
}

// spaces returns the namespaces, those of Kyverno before those of handoff.
func spaces(kyvernos []*stage.Space) []*stage.Space {
	const scaled, applied = peers.Replicas, 3
	all := append([]*stage.Space{
		{Name: "none", Title: "no admission", Want: applied},
		{Name: allowing, Title: "a webhook that only says allowed", Peer: peers.Allow, Want: applied},
		{
			Name: "conditions", Title: "a webhook that only says allowed, with handoff's match conditions", Peer: peers.Allow,
			Conditions: stage.Same, Want: applied,
		},
		{Name: "patch", Title: "a webhook that sends a constant JSON patch", Peer: peers.Patch, Want: scaled},
		{
			Name: "conditional-patch", Title: "a constant JSON patch, with handoff's match conditions", Peer: peers.Patch,
			Conditions: stage.Same, Want: scaled,
		},
	}, kyvernos...)
	return append(all,
		&stage.Space{Name: "off", Title: "handoff, namespace not opted in", Handoff: true, Want: applied},
		&stage.Space{Name: "idle", Title: "handoff, nothing to do", Handoff: true, Mode: "enforce", Unscaled: true, Want: applied},
		&stage.Space{Name: keeping, Title: "handoff, a field kept", Handoff: true, Mode: "enforce", Want: scaled},
	)
}

// underLoad measures the throughput, and the peak of the resident memory meanwhile.
func underLoad(ctx context.Context, progress io.Writer, s *stage.Stage, of []*stage.Space) ([]*space, []table.Row, error) {
	pids := []int{s.Handoff}
	if s.Kyverno != nil {
		pids = append(pids, s.Kyverno.PID)
	}
	for _, pid := range pids {
		if err := procs.ResetPeak(pid); err != nil {
			return nil, nil, err
		}
	}
	measured, err := throughput(ctx, progress, s, of)
	if err != nil {
		return nil, nil, err
	}
	peaks := make([]int64, len(pids))
	for i, pid := range pids {
		if _, peaks[i], err = procs.Memory(pid); err != nil {
			return nil, nil, err
		}
	}
	const what = "resident memory, 500 writers"
	rows := []table.Row{memoryRow(what, peaks[0])}
	if s.Kyverno != nil {
		rows = append(rows, table.Row{
			What: what, Handoff: atPeak(peaks[0]), Reference: atPeak(peaks[1]) + ", Kyverno",
			Ratio: table.Ratio{Value: float64(peaks[0]) / float64(peaks[1])},
		})
	}
	return measured, rows, nil
}

func atPeak(bytes int64) string { return fmt.Sprintf("%.1f MiB at the peak", float64(bytes)/(1<<20)) }

func memoryRow(what string, peak int64) table.Row {
	return table.Row{
		What: what, Handoff: atPeak(peak),
		Reference: fmt.Sprintf("%d MiB, the target", memoryTarget>>20),
		Ratio:     table.Ratio{Value: float64(peak) / memoryTarget}, Target: table.Ratio{Value: 1}, Limit: table.Below,
	}
}
