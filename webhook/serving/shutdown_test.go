package serving_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/webhook/serving"
)

// client returns a client that reuses its connection, as the API server does.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: unverified()}, Timeout: patience}
}

func TestResponsesDuringTheShutdownCloseTheConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{ShutdownDelay: 6 * time.Second})
	s.ready()
	by := client()
	closes := func() bool {
		response, err := by.Post(s.url, "application/json", http.NoBody)
		expect.NoError(t, err)
		_ = response.Body.Close()
		return response.Close
	}
	expect.Equal(t, "the connection is closed before the shutdown", false, closes())
	s.end(context.Canceled)
	eventually(t, "the server is not ready", func() bool { return s.check("serving") != "" })
	expect.Equal(t, "the connection is closed during the shutdown", true, closes())
}

func TestARequestThatExceedsTheDrainTimeoutIsAborted(t *testing.T) {
	t.Parallel()
	r := reviews{entered: make(chan struct{}), gate: make(chan struct{})}
	defer close(r.gate)
	s := serve(t, r, serving.Options{DrainTimeout: 100 * time.Millisecond})
	s.ready()
	answered := make(chan error)
	go func() { _, err := s.postBy(client()); answered <- err }()
	<-r.entered
	s.end(context.Canceled)
	<-s.ended
	if err := <-answered; err == nil {
		t.Error("the request is answered although the gate is closed")
	}
	if s.err != nil || !strings.Contains(s.logged(), "drain timeout exceeded") {
		t.Errorf("want no error, and a log message, got %v\n%s", s.err, s.logged())
	}
}

func TestAPortInUseIsAnError(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{})
	s.ready()
	o := s.options
	o.Registerer = prometheus.NewRegistry()
	err := serving.New(o, reviews{}).Run(t.Context())
	expect.Error(t, "the port of another", "address already in use", err)
}

func TestTLS13IsRequired(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{})
	s.ready()
	for version, want := range map[uint16]bool{tls.VersionTLS12: false, tls.VersionTLS13: true} {
		config := unverified()
		config.MaxVersion = version
		connection, err := tls.Dial("tcp", s.address(), config)
		expect.Equal(t, tls.VersionName(version)+" is served", want, err == nil)
		if err == nil {
			_ = connection.Close()
		}
	}
	response, err := client().Get(strings.TrimSuffix(s.url, "/mutate") + "/healthz")
	expect.NoError(t, err)
	_ = response.Body.Close()
	expect.Equal(t, "/healthz on the port of /mutate", http.StatusNotFound, response.StatusCode)
}
