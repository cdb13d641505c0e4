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

	"github.com/ownership-handoff/handoff/webhook/serving"
)

const maxBody = 7 << 20

// address is where the server listens.
func (s *server) address() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/mutate")
}

// dialer dials from an address of this machine. Its many ports can be listened on by other tests all the same.
func dialer(from string) *net.Dialer {
	return &net.Dialer{
		LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience,
		Control: func(_, _ string, raw syscall.RawConn) (err error) {
			outer := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) })
			return errors.Join(outer, err)
		},
	}
}

// dial opens a connection from an address of this machine, which stays open until the test ends.
func (s *server) dial(from string) net.Conn {
	s.Helper()
	connection, err := dialer(from).Dial("tcp", s.address())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = connection.Close() })
	return connection
}

// send opens a connection, and sends what begins a request and does not end it.
func (s *server) send(head string, size int) {
	s.Helper()
	connection := tls.Client(s.dial("127.0.0.1"), unverified())
	if _, err := io.WriteString(connection, "POST /mutate HTTP/1.1\r\nHost: handoff\r\n"+head+"\r\n\r\n"); err != nil {
		s.Fatal(err)
	}
	// The server may refuse it before all is sent.
	_, _ = connection.Write([]byte(strings.Repeat(" ", size)))
}

// TestClientsThatAreSlowKeepNobodyOut verifies that reviews are answered as ever while others announce, trickle or do not
// read. Only what has arrived takes a place.
func TestClientsThatAreSlowKeepNobodyOut(t *testing.T) {
	for sentence, c := range map[string]struct {
		connections int
		head        string
		size        int // of what is sent of the body
		inFlight    int // at least so many of them have to be there
	}{
		"one announces 70 MiB and sends nothing":       {1, "Content-Length: 73400320", 0, 1},
		"two announce more than can be counted":        {2, "Content-Length: 9000000000000000000", 0, 2},
		"ten send chunks of which none comes":          {10, "Transfer-Encoding: chunked", 0, 10},
		"ten are in the midst of a chunk":              {10, "Transfer-Encoding: chunked\r\n\r\n700000\r\n", 1 << 10, 10},
		"more than may be worked on have sent half":    {20, "Content-Length: 2000", 1000, 20},
		"all but the last byte of too many is there":   {20, fmt.Sprintf("Content-Length: %d", maxBody-1), maxBody - 2, 5},
		"more is sent than may be sent, and no end is": {20, "Content-Length: 73400320", maxBody + 1, 5},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := serve(t, reviews{}, serving.Options{MaxInFlight: 2, MaxBody: maxBody})
			s.ready()
			for range c.connections {
				s.send(c.head, c.size)
			}
			eventually(t, "they are in flight", func() bool { return s.inFlight() >= float64(c.inFlight) })
			before := s.inFlight()
			for range 5 {
				if answer, err := s.post(); answer != "reviewed" || err != nil {
					t.Errorf("beside them: got %q, %v", answer, err)
				}
			}
			if s.inFlight() == 0 {
				t.Errorf("%v were in flight, and are gone", before)
			}
		})
	}
}

// bulky answers with more than a connection holds on its way.
type bulky struct{ written *atomic.Int32 }

func (b bulky) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	if req.Header.Get("Big") == "" {
		_, _ = io.WriteString(w, "reviewed")
		return
	}
	b.written.Add(1)
	_, _ = w.Write(make([]byte, 64<<20))
}

func (bulky) Shed(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "shed") }

// TestClientsThatDoNotReadKeepNobodyOut verifies that an answer on its way holds no slot.
func TestClientsThatDoNotReadKeepNobodyOut(t *testing.T) {
	t.Parallel()
	written := new(atomic.Int32)
	s := serveReviews(t, bulky{written}, serving.Options{MaxInFlight: 2, MaxBody: maxBody})
	s.ready()
	for i := range int32(6) {
		s.send("Big: yes\r\nContent-Length: 2", 2)
		eventually(t, "it is answered", func() bool { return written.Load() == i+1 })
		eventually(t, "another is reviewed beside it", func() bool {
			answer, err := s.post()
			return answer == "reviewed" && err == nil
		})
	}
	eventually(t, "they are in flight", func() bool { return s.inFlight() == 6 })
}

// closed reports whether the other end has closed a connection.
func closed(connection net.Conn) bool {
	_ = connection.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := connection.Read(make([]byte, 1))
	timeout, ok := err.(net.Error) //nolint:errorlint // of this very read
	return err != nil && (!ok || !timeout.Timeout())
}

// TestIdleConnectionsLockNobodyOut verifies that a client of many connections loses its own: neither the connection that
// another has kept, nor a new one of another, nor one of its own that sends a review is closed for them.
func TestIdleConnectionsLockNobodyOut(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{MaxInFlight: 2})
	s.ready()
	kept := client() // as the API server's
	if answer, err := s.postBy(kept); answer != "reviewed" || err != nil {
		t.Fatalf("before the others: got %q, %v", answer, err)
	}
	opened := make([]net.Conn, 0, 3000)
	for range cap(opened) {
		opened = append(opened, s.dial("127.0.0.2"))
	}
	eventually(t, "the server has seen them", func() bool { return strings.Contains(s.logged(), "too many connections") })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.GetBody = nil // on a connection that was closed, it would fail
	response, err := kept.Do(request)
	if err != nil {
		t.Fatalf("on the connection that was kept: %v", err)
	}
	_ = response.Body.Close()
	if answer, err := s.post(); answer != "reviewed" || err != nil {
		t.Errorf("on a new connection: got %q, %v", answer, err)
	}
	from := &http.Client{
		Transport: &http.Transport{TLSClientConfig: unverified(), DialContext: dialer("127.0.0.2").DialContext}, Timeout: patience,
	}
	if answer, err := s.postBy(from); answer != "reviewed" || err != nil {
		t.Errorf("on a new connection of the same address: got %q, %v", answer, err)
	}
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

// inUse is the memory of heap and stacks.
func inUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}

// TestIdleConnectionsTakeBoundedMemory verifies that a multiple of the connections takes no multiple of the memory. It
// runs alone, since other tests take memory as well.
func TestIdleConnectionsTakeBoundedMemory(t *testing.T) {
	s := serve(t, reviews{}, serving.Options{MaxInFlight: 2})
	s.ready()
	const some = 1000
	open := func() {
		for range some {
			connection := tls.Client(s.dial("127.0.0.1"), unverified())
			if err := connection.Handshake(); err != nil {
				t.Fatal(err)
			}
			raw := connection.NetConn()
			t.Cleanup(func() { _ = raw.Close() }) // and nothing else of the client's is kept
		}
	}
	before := inUse()
	open()
	first := inUse()
	for range 3 {
		open()
	}
	last := inUse()
	t.Logf("%d idle connections take %d KiB, four times as many %d KiB", some, (first-before)>>10, (last-before)>>10)
	if first <= before || last-min(last, before) > 2*(first-before) {
		t.Errorf("%d connections take %d bytes, four times as many %d", some, first-before, last-before)
	}
}
