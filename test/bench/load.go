package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/procs"
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
	// inFlight is the maximum number of reviews at a time. The API server answers 600 requests at a time by default
	// (--max-requests-inflight and --max-mutating-requests-inflight).
	inFlight = 1000
	// timeout is that of the webhook configuration.
	timeout = 2 * time.Second
	// probers send without a pause to find the capacity.
	probers = 100
)

// measureLoad sends reviews to the webhook faster and faster, up to ten times the rate that it can answer, and reports what becomes of
// them.
func measureLoad(ctx context.Context, progress io.Writer) (rows []table.Row, err error) {
	s, err := startStage(ctx, progress, []*space{{name: recorded, handoff: true, optedIn: true, want: scaled}})
	defer func() { err = errors.Join(err, s.stop()) }()
	if err != nil {
		return nil, err
	}
	c, err := s.newSender()
	if err != nil {
		return nil, err
	}
	defer c.client.CloseIdleConnections()
	if c.send(ctx) != decided {
		return nil, errors.New("the webhook does not keep a field in the recorded review")
	}
	capacity := c.capacity(ctx)
	if err := procs.ResetPeak(s.handoff); err != nil {
		return nil, err
	}
	atCalm := offer(ctx, c.send, calm, stepTime)
	peak, err := procs.PeakMemory(s.handoff)
	if err != nil {
		return nil, err
	}
	rows = append(rows, table.Row{
		What: "capacity, reviews of 8.3 KB with a field kept", Handoff: fmt.Sprintf("%.0f reviews/s", capacity),
		Reference: "the client, on the same cores, included",
	}, table.Row{
		What: fmt.Sprintf("%d reviews/s", calm), Handoff: atCalm.String(), Reference: "all of them decided",
		Ratio: float64(atCalm.of[decided]) / float64(atCalm.offered), Target: 1, AtLeast: true,
	}, table.Row{
		What: "peak of the resident memory meanwhile", Handoff: megabytes(peak), Reference: megabytes(memoryTarget),
		Ratio: float64(peak) / memoryTarget, Target: 1,
	})
	for _, share := range []float64{0.5, 1, 2, 5, 10} {
		o := offer(ctx, c.send, share*capacity, stepTime)
		rows = append(rows, table.Row{What: fmt.Sprintf("%g times the capacity", share), Handoff: o.String()})
	}
	return rows, ctx.Err()
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// sender sends the same review as the API server does: over TLS and HTTP/1.1, with connections that stay open.
type sender struct {
	url    string
	body   []byte
	client *http.Client
}

// newSender returns a sender of the recorded review.
func (s *stage) newSender() (*sender, error) {
	root, err := controlplane.Root()
	if err != nil {
		return nil, err
	}
	body, err := os.ReadFile(filepath.Join(root, "webhook", "testdata", "reviews", recorded+".json"))
	if err != nil {
		return nil, fmt.Errorf("reading a recorded review: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(s.hook.CA) {
		return nil, errors.New("the webhook's CA is not a certificate")
	}
	return &sender{url: s.hook.URL + "/mutate", body: body, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13},
		MaxIdleConnsPerHost: inFlight,
	}}}, nil
}

// answer is what becomes of a review.
type answer int

const (
	decided answer = iota
	shed
	failed
	unsent // for lack of a free connection
	answers
)

// send sends a review. A shed one is allowed without a patch, with a warning.
func (c *sender) send(ctx context.Context) answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(c.body))
	if err != nil {
		return failed
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return failed
	}
	text, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil || response.StatusCode != http.StatusOK {
		return failed
	}
	return answerOf(text)
}

func answerOf(text []byte) answer {
	switch {
	case bytes.Contains(text, []byte(`"patch"`)):
		return decided
	case bytes.Contains(text, []byte("too many reviews")):
		return shed
	default:
		return failed
	}
}

// capacity returns how many reviews per second are decided at most.
func (c *sender) capacity(ctx context.Context) float64 {
	var count atomic.Int64
	var done sync.WaitGroup
	began := time.Now()
	for range probers {
		done.Go(func() {
			for time.Since(began) < stepTime && ctx.Err() == nil {
				if c.send(ctx) == decided {
					count.Add(1)
				}
			}
		})
	}
	done.Wait()
	return float64(count.Load()) / time.Since(began).Seconds()
}

// outcome is what became of reviews at a rate.
type outcome struct {
	rate    float64
	offered int
	of      [answers]int
	took    time.Duration
	times   []time.Duration // of decided reviews
}

func (o outcome) String() string {
	per := func(what answer) float64 { return float64(o.of[what]) / o.took.Seconds() }
	return fmt.Sprintf("offered %.0f/s: decided %.0f/s, shed %.0f/s, failed %.0f/s, not sent %.0f/s, p99 %d ms",
		o.rate, per(decided), per(shed), per(failed), per(unsent), table.Percentile(o.times, 99).Milliseconds())
}

// offer sends reviews at a rate, whether or not earlier ones are answered. A review for which there is no free connection is not
// sent.
func offer(ctx context.Context, send func(context.Context) answer, rate float64, duration time.Duration) outcome {
	o := outcome{rate: rate}
	var mutex sync.Mutex
	count := func(what answer, took time.Duration) {
		mutex.Lock()
		defer mutex.Unlock()
		o.of[what]++
		if what == decided {
			o.times = append(o.times, took)
		}
	}
	var pending sync.WaitGroup
	free := make(chan struct{}, inFlight)
	began := time.Now()
	for elapsed := time.Since(began); elapsed < duration && ctx.Err() == nil; elapsed = time.Since(began) {
		for due := int(rate * elapsed.Seconds()); o.offered < due; o.offered++ {
			select {
			case free <- struct{}{}:
			default:
				count(unsent, 0)
				continue
			}
			pending.Go(func() {
				defer func() { <-free }()
				sent := time.Now()
				what := send(ctx)
				count(what, time.Since(sent))
			})
		}
		time.Sleep(time.Millisecond)
	}
	pending.Wait()
	o.took = time.Since(began)
	return o
}
