// Package latency measures what admission adds to the time of a write: handoff with and without its guard, a webhook that sends a
// constant patch, and none.
package latency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/peer"
	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

// size is a size of the written object.
type size struct {
	name      string
	variables int
	// share is the part of the writes that are sent: those of large objects take long.
	share int
	// keep is the upper limit for the time that a keep adds, relative to the time that a constant patch adds. A size without it has no
	// targets.
	keep float64
}

func sizes() []size {
	return []size{
		{name: "3 KB", share: 1, keep: 2},
		{name: "30 KB, 150 variables", variables: 150, share: 2, keep: 2.3},
		{name: "300 KB, 1,600 variables", variables: 1600, share: 10},
	}
}

// measured is a namespace with the times of its writes, and the CPU times of the API server and of the webhook in total.
type measured struct {
	*stage.Space

	title              string
	times              []time.Duration
	apiServer, webhook time.Duration
}

// The namespaces of each size.
const (
	none = iota
	constant
	notOptedIn
	nothingToDo
	keep
	guardedNotOptedIn
	guardedNothingToDo
	guardedKeep
)

func spaces(of size, number int) []*measured {
	const enforce = "enforce"
	unguarded := []*measured{
		none:        {title: "no admission", Space: &stage.Space{Want: stage.Applied}},
		constant:    {title: "a constant patch", Space: &stage.Space{Constant: true, Want: peer.Replicas}},
		notOptedIn:  {title: "not opted in", Space: &stage.Space{Handoff: true, Want: stage.Applied}},
		nothingToDo: {title: "nothing to do", Space: &stage.Space{Handoff: true, Mode: enforce, ByUser: true, Want: stage.Applied}},
		keep:        {title: "a keep", Space: &stage.Space{Handoff: true, Mode: enforce, Want: peer.Replicas}},
	}
	all := slices.Clone(unguarded)
	for _, m := range unguarded[notOptedIn:] {
		guarded := *m.Space
		guarded.Guarded = true
		all = append(all, &measured{title: m.title + ", with the guard", Space: &guarded})
	}
	for i, m := range all {
		m.Name, m.Variables = fmt.Sprintf("size-%d-space-%d", number, i), of.variables
	}
	return all
}

// Measure sends the same write to each namespace of a size in turn.
func Measure(ctx context.Context, progress io.Writer, writes int) (rows []table.Row, err error) {
	var staged []*stage.Space
	bySize := make([][]*measured, len(sizes()))
	for i, of := range sizes() {
		bySize[i] = spaces(of, i)
		for _, m := range bySize[i] {
			staged = append(staged, m.Space)
		}
	}
	s, err := stage.Start(ctx, progress, staged)
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err != nil {
		return nil, err
	}
	for i, of := range sizes() {
		rounds := max(writes/of.share, 1)
		if err := interleave(ctx, s, bySize[i], rounds); err != nil {
			return nil, err
		}
		bytes, err := bySize[i][keep].Size(ctx)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(progress, "latency: %s, %d bytes: %d writes in each of %d namespaces\n", of.name, bytes, rounds, len(bySize[i]))
		rows = append(rows, report(bySize[i], of)...)
	}
	return rows, nil
}

// interleave sends one write to each namespace in each round, so that other load on the machine affects all of them. The first
// rounds are for warming up.
func interleave(ctx context.Context, s *stage.Stage, all []*measured, rounds int) error {
	warmUp := max(rounds/10, 1)
	order := rand.New(rand.NewPCG(1, 2)) // a write can take longer after another one, so the order differs
	for round := range warmUp + rounds {
		for _, i := range order.Perm(len(all)) {
			if err := all[i].write(ctx, s, round >= warmUp); err != nil {
				return fmt.Errorf("namespace %s (%s): %w", all[i].Name, all[i].title, err)
			}
		}
	}
	return nil
}

// write sends one write, and records it unless it is for warming up.
func (m *measured) write(ctx context.Context, s *stage.Stage, record bool) error {
	webhook := 0
	if m.Constant {
		webhook = s.Constant
	} else if m.Handoff {
		webhook = s.Handoff
	}
	before, err := cpuOf(s.APIServer, webhook)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := m.Write(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := cpuOf(s.APIServer, webhook)
	if err != nil || !record {
		return err
	}
	m.times = append(m.times, took)
	m.apiServer += after[0] - before[0]
	m.webhook += after[1] - before[1]
	return nil
}

// cpuOf returns the CPU times of two processes. The second one may be 0, which is none.
func cpuOf(pids ...int) (times [2]time.Duration, err error) {
	for i, pid := range pids {
		if pid == 0 {
			continue
		}
		if times[i], err = procs.CPU(pid); err != nil {
			return times, err
		}
	}
	return times, nil
}
