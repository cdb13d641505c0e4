// Package serving runs the TLS server of the webhook.
//
// It reloads the serving certificate and the client CA when their files change, limits connections and reviews in flight, shuts
// down without losing a review, and serves health probes. It does not parse reviews.
package serving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ownership-handoff/handoff/internal/mounted"
)

const (
	// The API server waits at most 30 seconds for a review.
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 30 * time.Second
	// The API server closes a connection after 90 idle seconds. It must be the first to close: a review that it sends while the
	// webhook closes the connection would be lost.
	idleTimeout = 2 * time.Minute
	// The API server sends about 300 bytes of headers; net/http adds 4 KiB to this. Read, short headers take thirty times their size.
	headerLimit = 1
)

var (
	errNotListening = errors.New("the port is not open yet")
	errShuttingDown = errors.New("shutting down: still serving requests, but new ones should go to other replicas")
)

// Options configure a Server.
type Options struct {
	Port int
	// CertDir is the directory with tls.crt and tls.key.
	CertDir string
	// ClientCA is a file with CA certificates; if empty, any client is served. ClientNames are the accepted common names; if
	// empty, any name is accepted.
	ClientCA    string
	ClientNames []string
	// MaxInFlight is the maximum number of reviews that are processed at a time; 0 means no limit.
	MaxInFlight int
	// MaxBody is the maximum size of a review in bytes.
	MaxBody int64
	// ShutdownDelay is how long requests are accepted after the context of Run is done. DrainTimeout is the grace period for
	// requests in flight after that.
	ShutdownDelay, DrainTimeout time.Duration
	Log                         logr.Logger
	Registerer                  prometheus.Registerer
}

// Reviews answers reviews.
type Reviews interface {
	// Answer answers a review. body is what was received of it before err.
	Answer(w http.ResponseWriter, req *http.Request, body []byte, err error)
	// Shed answers a review immediately, without processing it. body may be truncated.
	Shed(w http.ResponseWriter, body []byte)
}

// Server serves reviews on POST /mutate.
type Server struct {
	options      Options
	http         *http.Server
	connections  *connections
	certificate  *mounted.Files[*tls.Certificate]
	clientCA     *mounted.Files[*x509.CertPool] // nil if any client is served
	open         atomic.Bool
	shuttingDown atomic.Bool
}

// New returns a Server. Run starts it.
func New(o Options, reviews Reviews) *Server {
	s := &Server{
		options: o, certificate: newCertificate(o.CertDir, o.Log),
		connections: newConnections(max(minConnections, 2*o.MaxInFlight), o.Log),
	}
	registerExpiry(s.certificate, o.Registerer)
	if o.ClientCA != "" {
		s.clientCA = newClientCA(o.ClientCA, o.Log)
	}
	mux := http.NewServeMux()
	mux.Handle("/mutate", s.closing(newLimiter(o.MaxInFlight, o.MaxBody, reviews, o.Registerer)))
	s.http = &http.Server{
		Handler: mux, TLSConfig: s.tlsConfig(), ErrorLog: stdlog.New(&connectionLog{log: o.Log}, "", 0),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: headerLimit,
		ConnContext:    withConnection,
		Protocols:      new(http.Protocols),
	}
	// The API server calls webhooks over HTTP/1.1, to balance requests between replicas. Without HTTP/2, there are no HTTP/2
	// floods.
	s.http.Protocols.SetHTTP1(true)
	return s
}

// closing makes each response during the shutdown the last on its connection. The drain then finds no idle connections: a
// request that a client sends while the server closes an idle connection would be lost.
func (s *Server) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.shuttingDown.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, req)
	})
}

// Run serves until the context is done and the shutdown delay has passed, then drains the requests in flight. If the context
// has a cause other than context.Canceled, another part has failed, and Run drains without the delay. Run returns an error if
// it cannot serve.
func (s *Server) Run(ctx context.Context) error {
	port, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(s.options.Port)))
	if err != nil {
		return fmt.Errorf("serving reviews: %w", err)
	}
	// Certificates may also change during the shutdown delay.
	runCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	reload := []func(){s.certificate.Reload}
	if s.clientCA != nil {
		reload = append(reload, s.clientCA.Reload)
	}
	go mounted.Follow(runCtx, reload...)
	served := make(chan error, 1)
	go func() { served <- s.http.ServeTLS(listener{port, s.connections}, "", "") }()
	s.open.Store(true)
	select {
	case err := <-served:
		return fmt.Errorf("serving reviews: %w", err)
	case <-ctx.Done():
	}
	s.shuttingDown.Store(true)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		s.options.Log.Info("shutting down: not ready, still serving requests", "delay", s.options.ShutdownDelay.String())
		time.Sleep(s.options.ShutdownDelay)
	}
	s.drain(runCtx)
	return nil
}

// drain closes the port and waits for the reviews in flight. It aborts a review that exceeds the drain timeout: the kubelet
// would kill the process anyway.
func (s *Server) drain(ctx context.Context) {
	s.options.Log.Info("draining: port closed, waiting for requests in flight", "timeout", s.options.DrainTimeout.String())
	ctx, cancel := context.WithTimeout(ctx, s.options.DrainTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.options.Log.Error(err, "drain timeout exceeded, aborting the requests in flight")
		_ = s.http.Close() // the process ends anyway
		return
	}
	s.options.Log.Info("drained: all requests completed")
}

// Checks returns the readiness checks of the server.
func (s *Server) Checks() []Check {
	checks := []Check{
		{Name: "certificate", Ready: s.certificate.Ready, Warning: s.certificate.Problem}, {Name: "serving", Ready: s.accepting},
	}
	if s.clientCA != nil {
		checks = append(checks, Check{Name: "client-ca", Ready: s.clientCA.Ready, Warning: s.clientCA.Problem})
	}
	return checks
}

func (s *Server) accepting() error {
	switch {
	case s.shuttingDown.Load():
		return errShuttingDown
	case !s.open.Load():
		return errNotListening
	default:
		return nil
	}
}
