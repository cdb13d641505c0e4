package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/handlers"
	"github.com/ownership-handoff/handoff/test/bench/procs"
	"github.com/ownership-handoff/handoff/test/bench/stage"
	"github.com/ownership-handoff/handoff/test/bench/table"
)

const (
	// recorded is the review that is sent. A keep is what costs the most.
	recorded = "apply-unchanged-while-hpa-scaled"
	stepTime = 4 * time.Second
	// calm is the rate, in reviews per second, below which no review may be shed.
	calm = 2000
)

// shares are the offered rates, relative to the capacity.
func shares() []float64 { return []float64{0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10} }

// curve sends reviews to the webhook at increasing rates, and reports what becomes of them.
func curve(ctx context.Context, progress io.Writer, s *stage.Stage, result *table.Result) error {
	body, err := handlers.Review(recorded)
	if err != nil {
		return err
	}
	if err := s.CreateReviewed(ctx, recorded); err != nil {
		return err
	}
	c, err := newSender(s.Webhook.URL+"/mutate", s.Webhook.CA, body)
	if err != nil {
		return err
	}
	defer c.client.CloseIdleConnections()
	if err := c.settle(ctx); err != nil {
		return err
	}
	capacity := c.capacity(ctx)
	fmt.Fprintf(progress, "load: %.0f reviews/s at most\n", capacity)
	if err := procs.ResetPeak(s.Handoff); err != nil {
		return err
	}
	atCalm := offer(ctx, c.send, calm, stepTime)
	_, calmPeak, err := procs.Memory(s.Handoff)
	if err != nil {
		return err
	}
	var steps []outcome
	for _, share := range shares() {
		o := offer(ctx, c.send, share*capacity, stepTime)
		fmt.Fprintf(progress, "load: %.2f times the capacity: %s\n", share, o)
		steps = append(steps, o)
	}
	_, peak, err := procs.Memory(s.Handoff)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	result.Rows = append(result.Rows, calmRow(atCalm), table.Row{
		What: "capacity, reviews of 8.3 KB with a field kept", Handoff: fmt.Sprintf("%.0f reviews/s", capacity),
		Reference: "the client, on the same cores, included",
	}, table.Row{What: "10 times the capacity, offered", Handoff: steps[len(steps)-1].String()},
		memoryRow(fmt.Sprintf("resident memory, %d reviews/s", calm), calmPeak),
		table.Row{What: "resident memory, 10 times the capacity", Handoff: fmt.Sprintf("%.1f MiB at the peak", float64(peak)/(1<<20))})
	result.Plots = append(result.Plots, plot(steps))
	return nil
}

// calmRow reports whether reviews are shed below the rate at which none may be.
func calmRow(o outcome) table.Row {
	offered := float64(o.sent + o.unsent)
	return table.Row{
		What: fmt.Sprintf("%d reviews/s, decided", calm), Handoff: o.String(), Reference: fmt.Sprintf("%.0f offered", offered),
		Ratio:  table.Ratio{Value: float64(o.decided) / offered, Percent: true},
		Target: table.Ratio{Value: 1, Percent: true}, Limit: table.AtLeast,
	}
}

func plot(steps []outcome) table.Plot {
	series := []table.Series{
		{Name: "decided"}, {Name: "shed, with a warning"}, {Name: "not answered within 2 s"}, {Name: "not sent: no free connection"},
	}
	for _, o := range steps {
		for i, count := range []int{o.decided, o.shed, o.failed, o.unsent} {
			series[i].Points = append(series[i].Points, table.Point{o.rate, float64(count) / o.took.Seconds()})
		}
	}
	return table.Plot{
		Name: "load", Title: "Reviews by what becomes of them, up to ten times the capacity",
		X: table.Axis{Label: "offered reviews per second", Log: true}, Y: table.Axis{Label: "reviews per second"}, Series: series,
	}
}

// settle waits until the webhook keeps a field in the review.
func (c *sender) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if c.send(ctx) == decided {
			return nil
		}
		if ctx.Err() != nil {
			return errors.New("the webhook does not keep a field in the recorded review")
		}
		time.Sleep(100 * time.Millisecond)
	}
}
