// Package latency measures what admission adds to the time of a write: with handoff, other webhooks, a policy, and without any.
package latency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/kyverno"
	"github.com/ownership-handoff/handoff/test/bench/peers"
	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

const (
	rounds = 2000
	warmUp = 200
	// target is the upper limit for the time that a keep adds, relative to the time that a constant patch adds.
	target = 1.1
)

// measured is a namespace with the times of its writes, and the CPU times of the API server and of the webhook in total.
type measured struct {
	*stage.Space

	times              []time.Duration
	apiServer, webhook time.Duration
}

// The namespaces that the others are compared with, and those of handoff.
const (
	none        = "none"
	patcher     = "patch"
	conditional = "conditions"
	keeping     = "keep"
)

// spaces returns the namespaces, those of Kyverno before those of handoff.
func spaces(kyvernos []*stage.Space) []*measured {
	const scaled, applied = peers.Replicas, 3
	all := []*measured{
		{Space: &stage.Space{Name: none, Title: "no admission", Want: applied}},
		{Space: &stage.Space{Name: "allow", Title: "a webhook that only says allowed", Peer: peers.Allow, Want: applied}},
		{Space: &stage.Space{Name: patcher, Title: "a webhook that sends a constant JSON patch", Peer: peers.Patch, Want: scaled}},
		{Space: &stage.Space{
			Name: "trivial", Title: "a constant JSON patch, with one trivial match condition", Peer: peers.Patch, Want: scaled,
			Conditions: stage.Trivial,
		}},
		{Space: &stage.Space{
			Name: conditional, Title: "a constant JSON patch, with handoff's match conditions", Peer: peers.Patch, Want: scaled,
			Conditions: stage.Same,
		}},
		{Space: &stage.Space{
			Name: "typed", Title: "a handler of controller-runtime that sets replicas", Peer: peers.Typed, Want: scaled,
		}},
		{Space: &stage.Space{Name: "policy", Title: "a MutatingAdmissionPolicy that sets replicas", Policy: true, Want: scaled}},
	}
	for _, space := range kyvernos {
		all = append(all, &measured{Space: space})
	}
	return append(all,
		&measured{Space: &stage.Space{Name: "off", Title: "handoff, namespace not opted in", Handoff: true, Want: applied}},
		&measured{Space: &stage.Space{
			Name: "idle", Title: "handoff, nothing to do", Handoff: true, Mode: "enforce", Unscaled: true, Want: applied,
		}},
		&measured{Space: &stage.Space{Name: keeping, Title: "handoff, a field kept", Handoff: true, Mode: "enforce", Want: scaled}},
	)
}

// Measure sends the same write to each namespace in turn.
func Measure(ctx context.Context, progress io.Writer) (result table.Result, err error) {
	others, withoutKyverno := stage.KyvernoSpaces(kyverno.Keep, kyverno.Lookup)
	if withoutKyverno != nil {
		fmt.Fprintf(progress, "latency: Kyverno is not measured: %v\n", withoutKyverno)
	}
	all := spaces(others)
	staged := make([]*stage.Space, len(all))
	for i, m := range all {
		staged[i] = m.Space
	}
	s, err := stage.Start(ctx, progress, staged, 1)
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err != nil {
		return result, err
	}
	size, err := staged[len(staged)-1].Size(ctx)
	if err != nil {
		return result, err
	}
	order := rand.New(rand.NewPCG(1, 2)) // a write can take longer after another one, so the order differs
	for round := range warmUp + rounds {
		for _, i := range order.Perm(len(all)) {
			m := all[i]
			if err := m.write(ctx, s, round >= warmUp); err != nil {
				return result, fmt.Errorf("namespace %s: %w", m.Name, err)
			}
		}
		if (round+1)%((warmUp+rounds)/4) == 0 {
			fmt.Fprintf(progress, "latency: %d of %d writes in each of %d namespaces\n", round+1, warmUp+rounds, len(all))
		}
	}
	if err := called(ctx, all); err != nil {
		return result, err
	}
	return report(all, withoutKyverno, size), nil
}

// write sends one write, and records it unless it is for warming up.
func (m *measured) write(ctx context.Context, s *stage.Stage, record bool) error {
	webhook := m.PID(s)
	apiBefore, err := procs.CPU(s.APIServer)
	if err != nil {
		return err
	}
	hookBefore, err := cpuOf(webhook)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := m.Write(ctx, 0); err != nil {
		return err
	}
	took := time.Since(began)
	apiAfter, err := procs.CPU(s.APIServer)
	if err != nil {
		return err
	}
	hookAfter, err := cpuOf(webhook)
	if err != nil || !record {
		return err
	}
	m.times = append(m.times, took)
	m.apiServer += apiAfter - apiBefore
	m.webhook += hookAfter - hookBefore
	return nil
}

func cpuOf(pid int) (time.Duration, error) {
	if pid == 0 {
		return 0, nil
	}
	return procs.CPU(pid)
}

// called verifies that each peer has reviewed all writes: the API server ignores a webhook that fails.
func called(ctx context.Context, all []*measured) error {
	for _, m := range all {
		count, err := m.Reviews(ctx)
		if err != nil {
			return err
		}
		if m.Peer != "" && count < warmUp+rounds {
			return fmt.Errorf("namespace %s: %d reviews of %d writes", m.Name, count, warmUp+rounds)
		}
	}
	return nil
}
