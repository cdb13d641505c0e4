package proxy

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// HTTP passes on requests, in the name of the user whose configuration it was given, until it is told to do something
// else. It ends the client's HTTP connection itself, as a load balancer of layer 7 does.
type HTTP struct {
	// URL is the address for clients.
	URL string

	mutex  sync.Mutex
	watch  string // what happens to watches: "", "cut" or "silent"
	status int    // what everything is answered with; 0: what the API server answers
	broken chan struct{}
}

// StartHTTP starts a proxy in front of an API server, which ends with the test.
func StartHTTP(t *testing.T, config *rest.Config) *HTTP {
	t.Helper()
	upstream, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &HTTP{broken: make(chan struct{})}
	reverse := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:    transport,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	reverse.FlushInterval = -1
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(reverse, w, r) }))
	p.URL = server.URL
	t.Cleanup(func() {
		p.CutWatches()
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

// Pass passes on everything.
func (p *HTTP) Pass() { p.set("", 0) }

// CutWatches ends all watches, and each new one, without an answer. Everything else passes.
func (p *HTTP) CutWatches() { p.set("cut", 0) }

// SilenceWatches passes on nothing of any watch any more: no event, and no end. Each new one is answered with its header
// and nothing else. Everything else passes.
func (p *HTTP) SilenceWatches() { p.set("silent", 0) }

// Refuse cuts all watches and answers every request with a status.
func (p *HTTP) Refuse(status int) { p.set("cut", status) }

func (p *HTTP) set(watch string, status int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.watch, p.status = watch, status
	close(p.broken)
	p.broken = make(chan struct{})
}

var errBroken = errors.New("the proxy breaks the watch")

func (p *HTTP) serve(reverse http.Handler, w http.ResponseWriter, r *http.Request) {
	p.mutex.Lock()
	watch, status, broken := p.watch, p.status, p.broken
	p.mutex.Unlock()
	watches := r.URL.Query().Get("watch") != ""
	switch {
	case status != 0:
		http.Error(w, http.StatusText(status), status)
	case !watches:
		reverse.ServeHTTP(w, r)
	case watch == "cut":
		panic(http.ErrAbortHandler)
	case watch == "silent":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		p.keep(r, broken)
	default:
		p.passWatch(reverse, w, r, broken)
	}
}

// passWatch passes on a watch until the proxy is told to do something else.
func (p *HTTP) passWatch(reverse http.Handler, w http.ResponseWriter, r *http.Request, broken <-chan struct{}) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	go func() {
		select {
		case <-broken:
			cancel(errBroken)
		case <-ctx.Done():
		}
	}()
	ended := make(chan any, 1)
	func() {
		defer func() { ended <- recover() }()
		reverse.ServeHTTP(w, r.WithContext(ctx))
	}()
	failure := <-ended
	if errors.Is(context.Cause(ctx), errBroken) {
		p.mutex.Lock()
		silent, again := p.watch == "silent", p.broken
		p.mutex.Unlock()
		if silent {
			p.keep(r, again)
		}
	}
	if failure != nil {
		panic(failure)
	}
}

// keep keeps a request without an end until the client gives up or the proxy does something else.
func (p *HTTP) keep(r *http.Request, broken <-chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-broken:
	}
	panic(http.ErrAbortHandler)
}
