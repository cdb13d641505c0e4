package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/procs"
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

var sizes = []size{
	{name: "3 KB", share: 1, keep: 2},
	{name: "30 KB, 150 variables", variables: 150, share: 2, keep: 2.3},
	{name: "300 KB, 1,600 variables", variables: 1600, share: 10},
}

// The namespaces of each size. Those with the guard have no targets.
const (
	none = iota
	constant
	notOptedIn
	nothingToDo
	keep
)

func spacesOf(of size, number int) []*space {
	unguarded := []*space{
		none:        {title: "no admission", want: applied},
		constant:    {title: "a constant patch", constant: true, want: scaled},
		notOptedIn:  {title: "not opted in", handoff: true, want: applied},
		nothingToDo: {title: "nothing to do", handoff: true, optedIn: true, byUser: true, want: applied},
		keep:        {title: "a keep", handoff: true, optedIn: true, want: scaled},
	}
	all := slices.Clone(unguarded)
	for _, s := range unguarded[notOptedIn:] {
		guarded := *s
		guarded.title, guarded.guarded = s.title+", with the guard", true
		all = append(all, &guarded)
	}
	for i, s := range all {
		s.name, s.variables = fmt.Sprintf("size-%d-space-%d", number, i), of.variables
	}
	return all
}

// measureLatency measures what admission adds to the time of a write: handoff with and without its guard, a webhook that sends a
// constant patch, and none. It sends the same write to each namespace of a size in turn.
func measureLatency(ctx context.Context, progress io.Writer, writes int) (rows []table.Row, err error) {
	var all []*space
	bySize := make([][]*space, len(sizes))
	for i, of := range sizes {
		bySize[i] = spacesOf(of, i)
		all = append(all, bySize[i]...)
	}
	s, err := startStage(ctx, progress, all)
	defer func() { err = errors.Join(err, s.stop()) }()
	if err != nil {
		return nil, err
	}
	for i, of := range sizes {
		rounds := max(writes/of.share, 1)
		if err := s.interleave(ctx, bySize[i], rounds); err != nil {
			return nil, err
		}
		bytes, err := bySize[i][keep].size(ctx)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(progress, "latency: %s, %d bytes: %d writes in each of %d namespaces\n", of.name, bytes, rounds, len(bySize[i]))
		rows = append(rows, compare(bySize[i], of)...)
	}
	return rows, nil
}

// interleave sends one write to each namespace in each round, so that other load on the machine affects all of them. The first
// rounds are for warming up.
func (s *stage) interleave(ctx context.Context, all []*space, rounds int) error {
	warmUp := max(rounds/10, 1)
	order := rand.New(rand.NewPCG(1, 2)) // a write can take longer after another one, so the order differs
	for round := range warmUp + rounds {
		for _, i := range order.Perm(len(all)) {
			if err := s.measure(ctx, all[i], round >= warmUp); err != nil {
				return fmt.Errorf("namespace %s (%s): %w", all[i].name, all[i].title, err)
			}
		}
	}
	return nil
}

// measure sends one write, and records it unless it is for warming up.
func (s *stage) measure(ctx context.Context, to *space, record bool) error {
	webhook := 0
	if to.constant {
		webhook = s.constant
	} else if to.handoff {
		webhook = s.handoff
	}
	before, err := cpuOf(s.apiServer, webhook)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := to.write(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := cpuOf(s.apiServer, webhook)
	if err != nil || !record {
		return err
	}
	to.times = append(to.times, took)
	to.apiServer += after[0] - before[0]
	to.webhook += after[1] - before[1]
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

const (
	// idle is the upper limit for the time that a review with nothing to do adds, relative to the time that a constant patch adds.
	idle = 1.1
	// unnoticed is the upper limit for the time of a write in a namespace that has not opted in, relative to one without
	// admission: two namespaces without admission differ by as much.
	unnoticed = 1.05
)

// compare compares the namespaces of a size.
func compare(all []*space, of size) (rows []table.Row) {
	plain, patched := all[none], all[constant]
	for i, s := range all {
		row := table.Row{What: "write of " + of.name + ": " + s.title}
		if s.handoff {
			row.Handoff, row.Reference = s.describe(plain), text(patched.added(plain))+" added by a constant patch"
			row.Ratio = float64(s.added(plain)) / float64(patched.added(plain))
		} else {
			row.Reference = s.describe(plain)
		}
		switch i {
		case keep:
			row.Target = of.keep
		case nothingToDo:
			row.Target = idle
		case notOptedIn:
			row.Reference = text(plain.median()) + " without admission"
			row.Ratio = float64(s.median()) / float64(plain.median())
			row.Target = unnoticed
		}
		if of.keep == 0 {
			row.Target = 0
		}
		rows = append(rows, row)
	}
	return rows
}

func (s *space) median() time.Duration { return table.Percentile(s.times, 50) }

// added returns by how much the median is longer than without admission.
func (s *space) added(plain *space) time.Duration { return s.median() - plain.median() }

// describe returns the times of a write, and what admission adds.
func (s *space) describe(plain *space) string {
	writes := time.Duration(len(s.times))
	described := fmt.Sprintf("p50 %s, p99 %s", text(s.median()), text(table.Percentile(s.times, 99)))
	if s != plain {
		described += ", added " + text(s.added(plain))
	}
	described += ", CPU of the API server " + text(s.apiServer/writes)
	if s.webhook > 0 {
		described += ", of the webhook " + text(s.webhook/writes)
	}
	return described
}

// text returns a duration in milliseconds, for the table.
func text(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
