// Package load measures what happens to reviews that arrive faster than the webhook can answer them.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/peer"
	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/bench/table"
	"github.com/ownership-handoff/handoff/test/controlplane"
)

const (
	// recorded is the review that is sent, and its namespace. A keep is what costs the most.
	recorded = "apply-unchanged-while-hpa-scaled"
	stepTime = 4 * time.Second
	// calm is the rate, in reviews per second, below which no review may be shed.
	calm = 2000
	// memoryTarget is the upper limit for the webhook's resident memory in bytes at that rate.
	memoryTarget = 64 << 20
)

// shares are the offered rates, relative to the capacity.
func shares() []float64 { return []float64{0.5, 1, 2, 5, 10} }

// Measure sends reviews to the webhook at increasing rates, and reports what becomes of them.
func Measure(ctx context.Context, progress io.Writer) (rows []table.Row, err error) {
	space := &stage.Space{Name: recorded, Handoff: true, Mode: "enforce", Want: peer.Replicas}
	s, err := stage.Start(ctx, progress, []*stage.Space{space})
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err != nil {
		return nil, err
	}
	body, err := review()
	if err != nil {
		return nil, err
	}
	c, err := newSender(s.Webhook.URL+"/mutate", s.Webhook.CA, body)
	if err != nil {
		return nil, err
	}
	defer c.client.CloseIdleConnections()
	if c.send(ctx) != decided {
		return nil, errors.New("the webhook does not keep a field in the recorded review")
	}
	capacity := c.capacity(ctx)
	if err := procs.ResetPeak(s.Handoff); err != nil {
		return nil, err
	}
	atCalm := offer(ctx, c.send, calm, stepTime)
	peak, err := procs.PeakMemory(s.Handoff)
	if err != nil {
		return nil, err
	}
	rows = append(rows, table.Row{
		What: "capacity, reviews of 8.3 KB with a field kept", Handoff: fmt.Sprintf("%.0f reviews/s", capacity),
		Reference: "the client, on the same cores, included",
	}, table.Row{
		What: fmt.Sprintf("%d reviews/s", calm), Handoff: atCalm.String(), Reference: "all of them decided",
		Ratio: float64(atCalm.decided) / float64(atCalm.sent+atCalm.unsent), Target: 1, AtLeast: true,
	}, table.Row{
		What: "peak of the resident memory meanwhile", Handoff: megabytes(peak), Reference: megabytes(memoryTarget),
		Ratio: float64(peak) / memoryTarget, Target: 1,
	})
	for _, share := range shares() {
		o := offer(ctx, c.send, share*capacity, stepTime)
		rows = append(rows, table.Row{What: fmt.Sprintf("%g times the capacity", share), Handoff: o.String()})
	}
	return rows, ctx.Err()
}

// review returns the recorded review.
func review() ([]byte, error) {
	root, err := controlplane.Root()
	if err != nil {
		return nil, err
	}
	body, err := os.ReadFile(filepath.Join(root, "webhook", "testdata", "reviews", recorded+".json"))
	if err != nil {
		return nil, fmt.Errorf("reading a recorded review: %w", err)
	}
	return body, nil
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
