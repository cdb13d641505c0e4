package serving_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/webhook/serving"
)

const maxBody = 7 << 20

// address returns the address on which the server listens.
func (s *server) address() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mutate")
}

// dialer dials from a local address. It sets SO_REUSEADDR, so that other tests can listen on the many ports it uses.
func dialer(from string) *net.Dialer {
	return &net.Dialer{
		LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience,
		Control: func(_, _ string, raw syscall.RawConn) (err error) {
			outer := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) })
			return errors.Join(outer, err)
		},
	}
}

// dial opens a connection from a local address, which stays open until the test ends.
func (s *server) dial(from string) net.Conn {
	s.Helper()
	connection, err := dialer(from).Dial("tcp", s.address())
	expect.NoError(s, err)
	s.Cleanup(func() { _ = connection.Close() })
	return connection
}

// send opens a connection and sends the header of a request, and size bytes of its body.
func (s *server) send(head string, size int) {
	s.Helper()
	connection := tls.Client(s.dial("127.0.0.1"), unverified())
	_, err := io.WriteString(connection, "POST /mutate HTTP/1.1\r\nHost: handoff\r\n"+head+"\r\n\r\n")
	expect.NoError(s, err)
	// The server may close the connection before everything is sent.
	_, _ = connection.Write([]byte(strings.Repeat(" ", size)))
}

// TestSlowSendersDoNotBlockOtherReviews verifies that reviews are answered while other clients send large Content-Lengths or
// send slowly. Only received bytes count against the limits.
func TestSlowSendersDoNotBlockOtherReviews(t *testing.T) {
	for sentence, c := range map[string]struct {
		connections int
		head        string
		size        int // bytes of the body that are sent
		inFlight    int // at least this many must be in flight
	}{
		"one with Content-Length 70 MiB and no body":    {1, "Content-Length: 73400320", 0, 1},
		"two whose Content-Lengths overflow when added": {2, "Content-Length: 9000000000000000000", 0, 2},
		"ten with chunked encoding and no chunk":        {10, "Transfer-Encoding: chunked", 0, 10},
		"ten that stop within a chunk":                  {10, "Transfer-Encoding: chunked\r\n\r\n700000\r\n", 1 << 10, 10},
		"more than --max-in-flight that stop halfway":   {20, "Content-Length: 2000", 1000, 20},
		"too many that stop before the last byte":       {20, fmt.Sprintf("Content-Length: %d", maxBody-1), maxBody - 2, 5},
		"bodies above the limit that do not end":        {20, "Content-Length: 73400320", maxBody + 1, 5},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := serve(t, reviews{}, serving.Options{MaxInFlight: 2})
			s.ready()
			for range c.connections {
				s.send(c.head, c.size)
			}
			eventually(t, "the slow reviews are in flight", func() bool { return s.inFlight() >= float64(c.inFlight) })
			before := s.inFlight()
			for range 5 {
				expect.Equal(t, "another review", "reviewed", outcome(s.post()))
			}
			if s.inFlight() == 0 {
				t.Errorf("%v reviews were in flight, now none", before)
			}
		})
	}
}

// largeResponses answers with more than the buffers of a connection can take.
type largeResponses struct{ written *atomic.Int32 }

func (b largeResponses) Answer(w http.ResponseWriter, req *http.Request, _ []byte, _ error) {
	if req.Header.Get("Big") == "" {
		_, _ = io.WriteString(w, "reviewed")
		return
	}
	b.written.Add(1)
	_, _ = w.Write(make([]byte, 64<<20))
}

func (largeResponses) Shed(w http.ResponseWriter, _ []byte) { _, _ = io.WriteString(w, "shed") }

// TestSlowReadersDoNotBlockOtherReviews verifies that a review whose response is being written does not count as working.
func TestSlowReadersDoNotBlockOtherReviews(t *testing.T) {
	t.Parallel()
	written := new(atomic.Int32)
	s := serve(t, largeResponses{written}, serving.Options{MaxInFlight: 2})
	s.ready()
	for i := range int32(6) {
		s.send("Big: yes\r\nContent-Length: 2", 2)
		eventually(t, "the large response is being written", func() bool { return written.Load() == i+1 })
		eventually(t, "another review is answered", func() bool { return outcome(s.post()) == "reviewed" })
	}
	eventually(t, "all six are in flight", func() bool { return s.inFlight() == 6 })
}

// closed reports whether the other end has closed a connection.
func closed(connection net.Conn) bool {
	_ = connection.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := connection.Read(make([]byte, 1))
	timeout, ok := err.(net.Error) //nolint:errorlint // returned by this Read, not wrapped
	return err != nil && (!ok || !timeout.Timeout())
}

// TestIdleConnectionsDoNotBlockOtherClients verifies that a client with many idle connections loses its own. The server closes
// neither an open or new connection of another client, nor a new connection of the same client that sends a review.
func TestIdleConnectionsDoNotBlockOtherClients(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{MaxInFlight: 2})
	s.ready()
	kept := client() // reuses its connection, as the API server does
	if answer, err := s.postBy(kept); answer != "reviewed" || err != nil {
		t.Fatalf("before the idle connections: got %q, %v", answer, err)
	}
	opened := make([]net.Conn, 0, 3000)
	for range cap(opened) {
		opened = append(opened, s.dial("127.0.0.2"))
	}
	eventually(t, "the server closes connections", func() bool { return strings.Contains(s.logged(), "too many connections") })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, http.NoBody)
	expect.NoError(t, err)
	request.GetBody = nil // no retry: the request fails if its connection was closed
	response, err := kept.Do(request)
	if err != nil {
		t.Fatalf("on the open connection: %v", err)
	}
	_ = response.Body.Close()
	expect.Equal(t, "on a new connection", "reviewed", outcome(s.post()))
	from := &http.Client{
		Transport: &http.Transport{TLSClientConfig: unverified(), DialContext: dialer("127.0.0.2").DialContext}, Timeout: patience,
	}
	expect.Equal(t, "on a new connection from the same address", "reviewed", outcome(s.postBy(from)))
	open := 0
	for _, connection := range opened {
		if !closed(connection) {
			open++
		}
	}
	if open > len(opened)/2 {
		t.Errorf("%d of %d idle connections are still open", open, len(opened))
	}
}

// inUse returns the memory used by heap and stacks.
func inUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}

// connectionMemory is about what an idle connection takes.
const connectionMemory = 40 << 10

// TestIdleConnectionsTakeBoundedMemory verifies that four times the connections do not take four times the memory. It does not
// run in parallel with other tests, because they take memory as well.
func TestIdleConnectionsTakeBoundedMemory(t *testing.T) {
	s := serve(t, reviews{}, serving.Options{MaxInFlight: 2})
	s.ready()
	const some = 1000
	open := func() {
		for range some {
			connection := tls.Client(s.dial("127.0.0.1"), unverified())
			expect.NoError(t, connection.Handshake())
			raw := connection.NetConn()
			t.Cleanup(func() { _ = raw.Close() }) // keeps only the raw connection alive
		}
	}
	before := inUse()
	open()
	first := inUse()
	for range 3 {
		open()
	}
	last := inUse()
	t.Logf("%d idle connections take %d KiB, four times as many %d KiB", some, (first-min(first, before))>>10, (last-min(last, before))>>10)
	// On a busy machine, connections end for their timeout before they are measured, and the first ones seem to take nothing.
	expected := max(first-min(first, before), some*connectionMemory)
	if last-min(last, before) > 2*expected {
		t.Errorf("%d connections take %d bytes, four times as many %d", some, first-before, last-before)
	}
}
