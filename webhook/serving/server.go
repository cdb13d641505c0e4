// Package serving is how reviews reach the webhook: the TLS server, its certificate and the clients that it lets in, which
// are both read anew when their files change; the limits of reviews in flight and of connections; the end of the server, on
// which no review is lost; and the health that tells the cluster which of this holds. What is in a review is none of its
// business.
package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	// A review is one request of the API server, which waits for 30 seconds at most.
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 30 * time.Second
	// The API server closes a connection that was idle for 90 seconds. It has to be the first who does: a review that it
	// sends while this end closes would be lost.
	idleTimeout = 2 * time.Minute
	// The API server's headers have some 300 bytes.
	headerLimit = 8 << 10
	// followEvery is how soon a file that has changed is read.
	followEvery = time.Second
)

var (
	errNotListening = errors.New("the port is not open yet")
	errLeaving      = errors.New("shutting down: requests are still served, and should be sent elsewhere")
)

// Options say how to serve.
type Options struct {
	Port int
	// CertDir is the folder with tls.crt and tls.key.
	CertDir string
	// ClientCA is a file; empty: any client is served. ClientNames are the common names that are let in; none: any.
	ClientCA    string
	ClientNames []string
	// MaxInFlight is how many reviews are worked on at a time; 0: no limit.
	MaxInFlight int
	// MaxBody is how large a review may be, in bytes; 0: 7 MiB.
	MaxBody int64
	// ShutdownDelay is how long requests go on being served after the end has come, DrainTimeout how long those in flight
	// may take after that.
	ShutdownDelay, DrainTimeout time.Duration
	Log                         logr.Logger
	Registerer                  prometheus.Registerer
}

// Reviews answers reviews.
type Reviews interface {
	http.Handler
	// Shed answers a review at once, without work on it.
	Shed(http.ResponseWriter, *http.Request)
}

// Server serves reviews on POST /mutate.
type Server struct {
	options     Options
	http        *http.Server
	connections *connections
	certificate *certificate
	clients     *clients // nil: any client is served
	open        atomic.Bool
	leaving     atomic.Bool
}

// New returns a server that does nothing before Run.
func New(o Options, reviews Reviews) (*Server, error) {
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	limited, err := newLimiter(o.MaxInFlight, o.MaxBody, reviews, o.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Server{
		options: o, certificate: newCertificate(o.CertDir, o.Log),
		connections: newConnections(max(fewestConnections, 2*o.MaxInFlight), o.Log),
	}
	if err := o.Registerer.Register(s.certificate.expiry()); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	if o.ClientCA != "" {
		s.clients = newClients(o.ClientCA, o.ClientNames, o.Log)
	}
	mux := http.NewServeMux()
	mux.Handle("/mutate", s.closing(limited))
	s.http = &http.Server{
		Handler: mux, TLSConfig: s.tlsConfig(), ErrorLog: errorLog(o.Log),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: headerLimit,
		ConnState:      s.connections.changed, ConnContext: withConnection,
		Protocols: new(http.Protocols),
	}
	// The API server calls webhooks by HTTP/1.1, to be balanced between replicas. Without HTTP/2, its floods are no matter.
	s.http.Protocols.SetHTTP1(true)
	return s, nil
}

// Run serves until the context ends, and for the delay after that, then lets what is in flight come to its end. A context
// with a cause of its own ends for a failure: then nobody is to be waited for. Run reports what kept it from serving.
func (s *Server) Run(ctx context.Context) error {
	port, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(s.options.Port)))
	if err != nil {
		return fmt.Errorf("serving reviews: %w", err)
	}
	// Certificates change during the delay as well.
	outliving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go s.follow(outliving)
	served := make(chan error, 1)
	go func() { served <- s.http.ServeTLS(listener{port, s.connections}, "", "") }()
	s.open.Store(true)
	select {
	case err := <-served:
		return fmt.Errorf("serving reviews: %w", err)
	case <-ctx.Done():
	}
	s.leaving.Store(true)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		s.options.Log.Info("shutting down: not ready any more, and still serving", "delay", s.options.ShutdownDelay.String())
		time.Sleep(s.options.ShutdownDelay)
	}
	s.drain(outliving)
	return nil
}

// follow reads the files again and again, until the context ends. Looking is cheap, and sees every change on every kind
// of volume.
func (s *Server) follow(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		_ = s.certificate.reload() // it is logged, and readiness has it
		if s.clients != nil {
			_ = s.clients.reload()
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// Checks are what has to hold for reviews to be sent here.
func (s *Server) Checks() []Check {
	checks := []Check{{"certificate", s.certificate.reload}, {"serving", s.accepting}}
	if s.clients != nil {
		checks = append(checks, Check{"client-ca", s.clients.reload})
	}
	return checks
}

func (s *Server) accepting() error {
	switch {
	case s.leaving.Load():
		return errLeaving
	case !s.open.Load():
		return errNotListening
	default:
		return nil
	}
}
