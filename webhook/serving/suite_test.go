package serving_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/webhook/serving"
)

// patience is the timeout of every wait. Only failing tests take that long.
const patience = 30 * time.Second

// reviews answers "reviewed" or "shed". If there is a gate, it waits for the gate first.
type reviews struct {
	entered chan struct{} // receives once for each review that waits
	gate    chan struct{}
}

func (r reviews) Answer(w http.ResponseWriter, _ *http.Request, _ []byte, _ error) {
	if r.gate != nil {
		r.entered <- struct{}{}
		<-r.gate
	}
	_, _ = io.WriteString(w, "reviewed")
}

func (reviews) Shed(w http.ResponseWriter, _ []byte) { _, _ = io.WriteString(w, "shed") }

// server is a serving.Server that runs until the test ends, or until end is called.
type server struct {
	*testing.T
	server   *serving.Server
	url      string
	options  serving.Options
	registry *prometheus.Registry
	end      context.CancelCauseFunc
	ended    chan struct{} // closed when Run has returned
	err      error         // the error of Run, once ended is closed
	mutex    sync.Mutex
	log      strings.Builder
}

// serve starts a server with these options and a free port. The server has no certificate before writePair.
func serve(t *testing.T, r serving.Reviews, o serving.Options) *server {
	t.Helper()
	ports, err := process.FreePorts(1)
	expect.NoError(t, err)
	s := &server{T: t, registry: prometheus.NewRegistry(), ended: make(chan struct{})}
	s.url = fmt.Sprintf("https://127.0.0.1:%d/mutate", ports[0])
	o.DrainTimeout = cmp.Or(o.DrainTimeout, patience)
	o.Port, o.CertDir, o.Registerer, o.MaxBody = ports[0], t.TempDir(), s.registry, maxBody
	o.Log = funcr.New(func(prefix, args string) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.log.WriteString(prefix + args + "\n")
	}, funcr.Options{})
	s.options = o
	s.server = serving.New(o, r)
	ctx, end := context.WithCancelCause(context.Background())
	s.end = end
	go func() {
		defer close(s.ended)
		s.err = s.server.Run(ctx)
	}()
	t.Cleanup(func() {
		end(errors.New("the test is over"))
		<-s.ended
	})
	return s
}

// check returns the error text of a readiness check, "" if the check passes.
func (s *server) check(name string) string {
	s.Helper()
	return text(s.find(name).Ready())
}

// warning returns the text of the problem with which a readiness check passes, "" if there is none.
func (s *server) warning(name string) string {
	s.Helper()
	expect.Equal(s, "the check, which only warns", "", s.check(name))
	return text(s.find(name).Warning())
}

func (s *server) find(name string) serving.Check {
	s.Helper()
	for _, check := range s.server.Checks() {
		if check.Name == name {
			return check
		}
	}
	s.Fatalf("no check %s", name)
	return serving.Check{}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// post posts a body on a new connection, and returns the response body.
func (s *server) post(certificates ...tls.Certificate) (string, error) {
	s.Helper()
	config := unverified()
	if len(certificates) > 0 { // sent even if the server accepts none of its CAs
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificates[0], nil }
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	return s.postBy(&http.Client{Transport: transport, Timeout: patience})
}

func (s *server) postBy(client *http.Client) (string, error) {
	response, err := client.Post(s.url, "application/json", strings.NewReader("{}"))
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// outcome returns a response body followed by the text of an error, so that one comparison covers both.
func outcome(answer string, err error) string { return answer + text(err) }

// unverified returns a client configuration that accepts any certificate: tests compare the certificate themselves.
func unverified() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
}

func (s *server) logged() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.log.String()
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("not within %s: %s", patience, what)
}

// writePair writes the certificate and the key; nil removes the file.
func (s *server) writePair(crt, key []byte) {
	s.Helper()
	write(s.T, filepath.Join(s.options.CertDir, "tls.crt"), crt)
	write(s.T, filepath.Join(s.options.CertDir, "tls.key"), key)
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	err := os.Remove(file)
	if content != nil {
		err = os.WriteFile(file, content, 0o600)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// ready gives the server a certificate and waits until it serves.
func (s *server) ready() {
	s.Helper()
	pair := issue(s.T, "localhost", nil, ago, soon)
	s.writePair(pair.crt, pair.key)
	eventually(s.T, "the server is ready", func() bool { return s.check("certificate") == "" && s.check("serving") == "" })
}

// served returns the certificate that the server presents, nil if the connection fails.
func (s *server) served() []byte {
	s.Helper()
	connection, err := tls.Dial("tcp", s.address(), unverified())
	if err != nil {
		return nil
	}
	defer func() { _ = connection.Close() }()
	return connection.ConnectionState().PeerCertificates[0].Raw
}

// inFlight returns the value of the gauge.
func (s *server) inFlight() float64 {
	s.Helper()
	families, err := s.registry.Gather()
	expect.NoError(s, err)
	for _, family := range families {
		if family.GetName() == "handoff_reviews_in_flight" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	s.Fatal("no gauge handoff_reviews_in_flight")
	return 0
}
