package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

// The method is that of the load tests of Kyverno's admission controller (https://kyverno.io/docs/installation/scaling/):
// concurrent clients share a fixed number of requests, and each sends its next one as soon as the last one is answered.
// Kyverno's tests create up to 10,000 pods through up to 500 clients.
const (
	writers = 500
	writes  = 2000 // of all writers together, in each round
	// rounds is odd, so that there is a middle one.
	rounds = 3
)

// space is a namespace with its results.
type space struct {
	*stage.Space

	rates []float64 // writes per second, by round
	times []time.Duration
	// missed are writes for which the API server did not wait for the webhook, failed those that it refused or did not answer.
	missed, failed int
	last           error // of the failed ones
}

// throughput lets the writers write to each namespace in turn.
func throughput(ctx context.Context, progress io.Writer, s *stage.Stage, spaces []*stage.Space) ([]*space, error) {
	all := make([]*space, len(spaces))
	for i := range spaces {
		all[i] = &space{Space: spaces[i]}
		if err := spaces[i].Spread(s); err != nil {
			return nil, err
		}
	}
	order := rand.New(rand.NewPCG(1, 2)) // as in package latency
	for round := range rounds {
		for _, i := range order.Perm(len(all)) {
			next := all[i]
			if err := next.round(ctx); err != nil {
				return nil, err
			}
			if err := rest(ctx, next.PID(s)); err != nil {
				return nil, fmt.Errorf("namespace %s: %w", next.Name, err)
			}
		}
		fmt.Fprintf(progress, "load: %d of %d rounds of %d writes in each of %d namespaces\n", round+1, rounds, writes, len(all))
	}
	return all, nil
}

func (s *space) round(ctx context.Context) error {
	var next atomic.Int64
	var mutex sync.Mutex
	var group sync.WaitGroup
	began := time.Now()
	for range writers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < writes; i = next.Add(1) - 1 {
				sent := time.Now()
				err := s.Write(ctx, int(i%deployments))
				took := time.Since(sent)
				mutex.Lock()
				s.record(took, err)
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	if s.failed > len(s.times)/10 || ctx.Err() != nil {
		return fmt.Errorf("namespace %s: %d of %d writes failed, the last one: %w", s.Name, s.failed, len(s.times), s.last)
	}
	s.rates = append(s.rates, writes/time.Since(began).Seconds())
	return nil
}

// rest waits, for 30 s at most, until a webhook has finished the reviews that the API server no longer waits for: they would take
// CPU time from the next namespace.
func rest(ctx context.Context, webhook int) error {
	const interval, idle = 200 * time.Millisecond, 20 * time.Millisecond
	if webhook == 0 {
		return nil
	}
	before, err := procs.CPU(webhook)
	for began := time.Now(); err == nil && ctx.Err() == nil && time.Since(began) < 30*time.Second; {
		time.Sleep(interval)
		var after time.Duration
		if after, err = procs.CPU(webhook); after-before < idle {
			break
		}
		before = after
	}
	return err
}

func (s *space) record(took time.Duration, err error) {
	s.times = append(s.times, took)
	switch {
	case errors.Is(err, stage.ErrNotAdmitted):
		s.missed++
	case err != nil:
		s.failed++
		s.last = err
	}
}

func reportThroughput(all []*space) (rows []table.Row) {
	reference := all[slices.IndexFunc(all, func(s *space) bool { return s.Name == allowing })]
	for _, s := range all {
		row := table.Row{What: fmt.Sprintf("%d writers, %s", writers, s.Title), Ratio: table.Ratio{Value: s.ratio(reference)}}
		if s.Handoff {
			row.Handoff, row.Reference = s.describe(), reference.describe()+", a webhook that only says allowed"
			row.Target, row.Limit = table.Ratio{Value: throughputTarget}, table.AtLeast
		} else {
			row.Reference = s.describe()
		}
		rows = append(rows, row)
	}
	return rows
}

// ratio returns the median of the rounds' ratios of the throughputs.
func (s *space) ratio(reference *space) float64 {
	ratios := make([]float64, rounds)
	for i := range ratios {
		ratios[i] = s.rates[i] / reference.rates[i]
	}
	slices.Sort(ratios)
	return ratios[rounds/2]
}

func (s *space) describe() string {
	rate := slices.Sorted(slices.Values(s.rates))[rounds/2]
	return fmt.Sprintf("%.0f writes/s, p50 %s, p99 %s, %.1f %% not admitted in time, %d failed", rate,
		milliseconds(table.Percentile(s.times, 50)), milliseconds(table.Percentile(s.times, 99)),
		100*float64(s.missed)/float64(len(s.times)), s.failed)
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}
