package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/table"
)

const (
	// inFlight is the maximum number of reviews at a time. The API server answers 600 requests at a time by default
	// (--max-requests-inflight and --max-mutating-requests-inflight).
	inFlight = 1000
	// timeout is that of the webhook configuration.
	timeout = 2 * time.Second
	// probers send without a pause to find the capacity.
	probers = 100
)

// sender sends the same review as the API server does: over TLS and HTTP/1.1, with connections that stay open.
type sender struct {
	url    string
	body   []byte
	client *http.Client
}

func newSender(url string, ca, body []byte) (*sender, error) {
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(ca) {
		return nil, errors.New("the webhook's CA is not a certificate")
	}
	return &sender{url: url, body: body, client: &http.Client{Transport: &http.Transport{
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
	rate                                float64
	sent, unsent, decided, shed, failed int
	took                                time.Duration
	times                               []time.Duration // of decided reviews
}

func (o outcome) String() string {
	return fmt.Sprintf("offered %.0f/s: decided %.0f/s, shed %.0f/s, failed %.0f/s, not sent %.0f/s, p99 %d ms",
		o.rate, o.per(o.decided), o.per(o.shed), o.per(o.failed), o.per(o.unsent), table.Percentile(o.times, 99).Milliseconds())
}

func (o outcome) per(count int) float64 { return float64(count) / o.took.Seconds() }

// offer sends reviews at a rate, whether or not earlier ones are answered. A review for which there is no free connection is not
// sent.
func offer(ctx context.Context, send func(context.Context) answer, rate float64, duration time.Duration) outcome {
	o := outcome{rate: rate}
	var mutex sync.Mutex
	var pending sync.WaitGroup
	free := make(chan struct{}, inFlight)
	began := time.Now()
	offered := 0
	for ctx.Err() == nil {
		elapsed := time.Since(began)
		if elapsed >= duration {
			break
		}
		for due := int(rate * elapsed.Seconds()); offered < due; offered++ {
			select {
			case free <- struct{}{}:
			default:
				o.unsent++
				continue
			}
			o.sent++
			pending.Go(func() {
				defer func() { <-free }()
				sent := time.Now()
				what := send(ctx)
				took := time.Since(sent)
				mutex.Lock()
				defer mutex.Unlock()
				o.count(what, took)
			})
		}
		time.Sleep(time.Millisecond)
	}
	pending.Wait()
	o.took = time.Since(began)
	return o
}

func (o *outcome) count(what answer, took time.Duration) {
	switch what {
	case decided:
		o.decided++
		o.times = append(o.times, took)
	case shed:
		o.shed++
	case failed:
		o.failed++
	}
}
