package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
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
	go func() { stopped <- s.process.Stop(2 * patience) }()
	asked := time.Now()
	s.said("[-]serving: shutting down", "[+]caches ok", "[+]certificate ok")
	if took := time.Since(asked); took > delay-time.Second {
		t.Fatalf("it became not ready only after %s", took)
	}
	if status, _ := s.get("/healthz"); status != http.StatusOK {
		t.Errorf("a draining process must be live, got %d", status)
	}
	for range 5 {
		response, err := s.review()
		if err != nil {
			t.Fatalf("after SIGTERM, on a new connection: %v", err)
		}
		if !response.Allowed || response.UID != "u" || response.Warnings != nil {
			t.Errorf("after SIGTERM: got %+v", response)
		}
	}
	s.eventually("it drains", func() bool { return strings.Contains(s.process.Log(), "draining") })
	if took := time.Since(asked); took < delay {
		t.Errorf("draining started after %s, want %s", took, delay)
	}
	if response, err := finish(); err != nil || !response.Allowed || response.UID != "u" {
		t.Errorf("request in flight: got %+v, %v", response, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if code := s.process.ExitCode(); code != 0 {
		t.Errorf("it exits with %d", code)
	}
	if !strings.Contains(s.process.Log(), "drained: all requests completed") {
		t.Errorf("unexpected log:\n%s", tail(s.process.Log()))
	}
}

// TestLoadShedding sends large reviews concurrently to a webhook that processes one at a time.
func TestLoadShedding(t *testing.T) {
	t.Parallel()
	s := startServer(newNamespace(t, "enforce"), cluster.Plane.Kubeconfig, "--max-in-flight=1")
	s.ready()
	large := strings.Replace(aReview, `"replicas":1`, `"replicas":1,"list":[`+strings.Repeat("1,", 1<<20)+"1]", 1)
	shed := 0
	s.eventually("a review is shed", func() bool {
		for _, response := range s.together(large, 10) {
			if response.Warnings == nil {
				continue
			}
			shed++
			if !response.Allowed || response.UID != "u" || len(response.Patch) > 0 || strings.Join(response.Warnings, "\n") !=
				"handoff: skipped, too many reviews in flight: the write was not modified" {
				t.Errorf("beyond the limit: got %+v", response)
			}
		}
		return shed > 0
	})
	if !s.metric(fmt.Sprintf(`handoff_failed_open_total{reason="shed"} %d`, shed)) {
		t.Errorf("the metrics do not count %d", shed)
	}
	s.eventually("none is in flight", func() bool { return s.metric("handoff_reviews_in_flight 0") })
	if response, err := s.review(); err != nil || response.Warnings != nil {
		t.Errorf("after the reviews in flight: got %+v, %v", response, err)
	}
}

// together posts a review several times concurrently, and returns the responses.
func (s *server) together(body string, times int) []*admissionv1.AdmissionResponse {
	s.Helper()
	responses, errs := make([]*admissionv1.AdmissionResponse, times), make([]error, times)
	var group sync.WaitGroup
	for i := range times {
		group.Go(func() { responses[i], errs[i] = s.post(body) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
	return responses
}
