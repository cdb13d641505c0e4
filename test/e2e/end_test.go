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

// TestNoRequestIsLostWhenItIsAskedToEnd sends what API servers send: requests on new connections after SIGTERM, which they
// have not heard of yet, and one that takes its time.
func TestNoRequestIsLostWhenItIsAskedToEnd(t *testing.T) {
	t.Parallel()
	const delay = 9 * time.Second // below the time that a body may take
	s := startServer(newNamespace(t, "enforce"), cluster.Plane.Kubeconfig, "--shutdown-delay="+delay.String())
	s.ready()
	finish := s.half()
	stopped := make(chan error)
	go func() { stopped <- s.process.Stop(2 * patience) }()
	asked := time.Now()
	s.said("[-]serving: shutting down", "[+]caches ok", "[+]certificate ok")
	if took := time.Since(asked); took > delay-time.Second {
		t.Fatalf("it is not ready only after %s", took)
	}
	if status, _ := s.get("/healthz"); status != http.StatusOK {
		t.Errorf("a process that drains lives, got %d", status)
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
		t.Errorf("it drains after %s, want %s", took, delay)
	}
	if response, err := finish(); err != nil || !response.Allowed || response.UID != "u" {
		t.Errorf("what was in flight: got %+v, %v", response, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if code := s.process.ExitCode(); code != 0 {
		t.Errorf("it exits with %d", code)
	}
	if !strings.Contains(s.process.Log(), "drained: all requests completed") {
		t.Errorf("the log says otherwise:\n%s", tail(s.process.Log()))
	}
}

// TestWhatIsTooMuchIsShed sends large reviews at the same time, of which one is worked on at a time.
func TestWhatIsTooMuchIsShed(t *testing.T) {
	t.Parallel()
	s := startServer(newNamespace(t, "enforce"), cluster.Plane.Kubeconfig, "--max-in-flight=1")
	s.ready()
	large := strings.Replace(aReview, `"replicas":1`, `"replicas":1,"list":[`+strings.Repeat("1,", 1<<20)+"1]", 1)
	shed := 0
	s.eventually("one is shed", func() bool {
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
		t.Errorf("when there is room again: got %+v, %v", response, err)
	}
}

// together posts a review several times at once, and returns the responses.
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

// TestASlowClientTakesNoPlace verifies that a review of which half has come keeps no other from being worked on.
func TestASlowClientTakesNoPlace(t *testing.T) {
	t.Parallel()
	s := startServer(newNamespace(t, "enforce"), cluster.Plane.Kubeconfig, "--max-in-flight=1")
	s.ready()
	finish := s.half()
	if response, err := s.review(); err != nil || !response.Allowed || response.Warnings != nil {
		t.Errorf("beside it: got %+v, %v", response, err)
	}
	if response, err := finish(); err != nil || response.Warnings != nil {
		t.Errorf("the slow one: got %+v, %v", response, err)
	}
}
