// Package load measures the webhook under load: the throughput of 500 concurrent writers through the API server, and what happens
// to reviews that arrive faster than the webhook can answer them.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"

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
	const scaled, applied = peers.Replicas, 3
	spaces := []*stage.Space{
		{Name: "none", Title: "no admission", Want: applied},
		{Name: allowing, Title: "a webhook that only says allowed", Peer: peers.Allow, Want: applied},
		{
			Name: "conditions", Title: "a webhook that only says allowed, with handoff's match conditions", Peer: peers.Allow,
			Conditions: stage.Same, Want: applied,
		},
		{Name: "patch", Title: "a webhook that sends a constant JSON patch", Peer: peers.Patch, Want: scaled},
		{Name: "off", Title: "handoff, namespace not opted in", Handoff: true, Want: applied},
		{Name: "idle", Title: "handoff, nothing to do", Handoff: true, Mode: "enforce", Unscaled: true, Want: applied},
		{Name: keeping, Title: "handoff, a field kept", Handoff: true, Mode: "enforce", Want: scaled},
	}
	s, err := stage.Start(ctx, progress, spaces, deployments)
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err != nil {
		return result, err
	}
	if err := procs.ResetPeak(s.Handoff); err != nil {
		return result, err
	}
	measured, err := throughput(ctx, progress, s, spaces)
	if err != nil {
		return result, err
	}
	_, peak, err := procs.Memory(s.Handoff)
	if err != nil {
		return result, err
	}
	result.Rows = append(reportThroughput(measured), memoryRow("resident memory, 500 writers", peak))
	err = curve(ctx, progress, s, &result)
	return result, err
}

func memoryRow(what string, peak int64) table.Row {
	return table.Row{
		What: what, Handoff: fmt.Sprintf("%.1f MiB at the peak", float64(peak)/(1<<20)),
		Reference: fmt.Sprintf("%d MiB, the target", memoryTarget>>20),
		Ratio:     table.Ratio{Value: float64(peak) / memoryTarget}, Target: table.Ratio{Value: 1}, Limit: table.Below,
	}
}
