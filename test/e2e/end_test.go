package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// TestGracefulShutdownLosesNoRequest sends the requests that API servers send: requests on new connections after SIGTERM, which
// they do not know about yet, and a slow one.
func TestGracefulShutdownLosesNoRequest(t *testing.T) {
	t.Parallel()
	const delay = 9 * time.Second // shorter than the timeout for reading a body
	s := startServer(newNamespace(t, "enforce"), cluster.Plane.Kubeconfig, "--shutdown-delay="+delay.String())
	s.ready()
	finish := s.half()
	stopped := make(chan error)
	go func() { stopped <- s.webhook.Stop() }()
	asked := time.Now()
	s.said("[-]serving: shutting down", "[+]caches ok", "[+]certificate ok")
	if took := time.Since(asked); took > delay-time.Second {
		t.Fatalf("it became not ready only after %s", took)
	}
	status, _ := s.get("/healthz")
	expect.Equal(t, "a draining process must be live", http.StatusOK, status)
	for range 5 {
		response, err := s.review()
		if err != nil {
			t.Fatalf("after SIGTERM, on a new connection: %v", err)
		}
		if !response.Allowed || response.UID != "u" || response.Warnings != nil {
			t.Errorf("after SIGTERM: got %+v", response)
		}
	}
	s.eventually("it drains", func() bool { return strings.Contains(s.webhook.Log(), "draining") })
	if took := time.Since(asked); took < delay {
		t.Errorf("draining started after %s, want %s", took, delay)
	}
	if response, err := finish(); err != nil || !response.Allowed || response.UID != "u" {
		t.Errorf("request in flight: got %+v, %v", response, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if !strings.Contains(s.webhook.Log(), "drained: all requests completed") {
		t.Errorf("unexpected log:\n%s", tail(s.webhook.Log()))
	}
}
