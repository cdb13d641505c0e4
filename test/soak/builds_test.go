package soak_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ownership-handoff/handoff/test/bench/procs"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// prepare builds what some of the faults need.
func (s *stage) prepare(chosen faults) {
	s.Helper()
	if s.other = *otherFlag; s.other == "" && slices.ContainsFunc(chosen, func(f *fault) bool { return strings.Contains(f.name, "webhook upgraded") }) {
		s.other = s.build("cmd/handoff-webhook/main.go", nil, "-ldflags=-X main.version=v999.0.0-other")
	}
}

// becomes returns a step that replaces pods by those of another build.
func becomes(which []int, other func(*stage) string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		return pods(which, func(ctx context.Context, p *pod) error { return p.become(ctx, other(s)) })(ctx, s)
	}
}

// own is the build that the soak tests.
func own(*stage) string { return "" }

// upgradePods replaces all pods by those of another version, one by one, and back.
func upgradePods(ctx context.Context, s *stage) error {
	all := []int{0, 1, 2}
	return errors.Join(becomes(all, func(s *stage) string { return s.other })(ctx, s), becomes(all, own)(ctx, s))
}

// runAPIServer replaces an API server by one of another version; "" for the one that the soak has started.
func runAPIServer(binary string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		server := *s.apis[1]
		if binary != "" {
			server.Command = append([]string{binary}, server.Command[1:]...)
		}
		if err := s.apis[1].kill(); err != nil {
			return err
		}
		err := server.restart(ctx)
		s.apis[1].PID = server.PID
		return err
	}
}

// exhaustMemory lets the first pod have no more memory, and sends it large reviews until it has died of that.
func exhaustMemory(ctx context.Context, s *stage) error {
	first := s.pods[0]
	first.mutex.Lock()
	hook, url := first.hook, "https://"+first.address+"/mutate"
	first.mutex.Unlock()
	if err := procs.LimitMemory(hook.PID(), 1<<20); err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	large := bytes.Repeat([]byte(" "), 6<<20)
	for ctx.Err() == nil {
		var senders sync.WaitGroup
		for range 8 {
			senders.Go(func() {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(large))
				if err == nil {
					if response, err := client.Do(request); err == nil {
						_ = response.Body.Close()
					}
				}
			})
		}
		senders.Wait()
		if outOfMemory(hook) {
			return nil
		}
		wait(ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("process %d has not run out of memory", hook.PID())
}

// outOfMemory reports whether a process has died of a lack of memory.
func outOfMemory(hook *handofftest.Webhook) bool {
	log := hook.Log()
	return strings.Contains(log, "out of memory") || strings.Contains(log, "cannot allocate memory")
}
