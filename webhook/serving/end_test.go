package serving_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/webhook/serving"
)

// client keeps its connection, as the API server does.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: unverified()}, Timeout: patience}
}

func (s *server) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func TestAfterTheEndRequestsAreServedForTheDelayAndThoseInFlightAreFinished(t *testing.T) {
	t.Parallel()
	const delay = 8 * time.Second
	r := reviews{entered: make(chan struct{}, 100), gate: make(chan struct{})}
	s := serve(t, r, serving.Options{ShutdownDelay: delay})
	s.ready()
	answers := make(chan string, 100)
	post := func(by *http.Client) {
		go func() {
			answer, err := s.postBy(by)
			if err != nil {
				answer = err.Error()
			}
			answers <- answer
		}()
		<-r.entered
	}
	kept := client()
	post(kept) // in flight before the end
	ended := time.Now()
	s.end(context.Canceled)
	eventually(t, "it is not ready", func() bool { return strings.Contains(s.check("serving"), "shutting down") })
	if late := time.Since(ended); late > delay/2 {
		t.Fatalf("it is not ready only after %s", late)
	}
	post(client()) // on a new connection during the delay
	post(client())
	if s.hasEnded() {
		t.Fatal("it ends although requests are in flight")
	}
	eventually(t, "the port is closed after the delay", func() bool { return s.served() == nil })
	if early := time.Since(ended); early < delay {
		t.Errorf("the port is closed after %s, want %s", early, delay)
	}
	if s.hasEnded() {
		t.Fatal("it ends although requests are in flight")
	}
	close(r.gate)
	for range 3 {
		if answer := <-answers; answer != "reviewed" {
			t.Errorf("a request was cut: %s", answer)
		}
	}
	<-s.ended
	if s.err != nil {
		t.Error(s.err)
	}
	if !strings.Contains(s.logged(), "drained: no request was cut") {
		t.Errorf("the log says otherwise:\n%s", s.logged())
	}
}

func TestAConnectionIsClosedWithItsAnswerOnceTheEndHasCome(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{ShutdownDelay: 6 * time.Second})
	s.ready()
	by := client()
	closes := func() bool {
		response, err := by.Post(s.url, "application/json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.Close
	}
	if closes() {
		t.Error("it is closed before the end")
	}
	s.end(context.Canceled)
	eventually(t, "it is not ready", func() bool { return s.check("serving") != "" })
	if !closes() {
		t.Error("it stays open after the end")
	}
}

func TestARequestThatTakesLongerThanTheDrainTimeoutIsCutAndSaid(t *testing.T) {
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
		t.Error("it is answered although nobody has let it through")
	}
	if s.err != nil || !strings.Contains(s.logged(), "still in flight at the end of the drain timeout") {
		t.Errorf("want no error, and a line in the log, got %v\n%s", s.err, s.logged())
	}
}

func TestAPortThatIsTakenIsSaid(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{})
	s.ready()
	o := s.options
	o.Registerer = newRegistry()
	second, err := serving.New(o, reviews{})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("want what is wrong, got %v", err)
	}
}

func TestTheProtocolIsNoOlderThanTLS13(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{})
	s.ready()
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mutate")
	for version, want := range map[uint16]bool{tls.VersionTLS12: false, tls.VersionTLS13: true} {
		config := unverified()
		config.MaxVersion = version
		connection, err := tls.Dial("tcp", address, config)
		if (err == nil) != want {
			t.Errorf("%s: want %t, got %v", tls.VersionName(version), want, err)
		}
		if err == nil {
			_ = connection.Close()
		}
	}
	response, err := client().Get(strings.TrimSuffix(s.url, "/mutate") + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("nothing but /mutate is served on this port, got %s", response.Status)
	}
}
