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

// HTTP is a reverse proxy that forwards requests with the credentials of a rest.Config, unless one of its methods changes that.
// It terminates the client's HTTP connections, as a layer 7 load balancer does.
type HTTP struct {
	// URL is the proxy's address.
	URL string

	mutex  sync.Mutex
	watch  string // the failure of watches: "" for none, "cut", "silent" or "bookmarks"; "all" if every request fails
	status int    // the status of every response; 0 for the API server's
	broken chan struct{}
}

// StartHTTP starts a proxy for an API server. It is stopped when the test ends.
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

// Pass forwards everything.
func (p *HTTP) Pass() { p.set("", 0) }

// CutWatches closes the connections of all watches and of each new one without a response. It forwards everything else.
func (p *HTTP) CutWatches() { p.set("cut", 0) }

// SilenceWatches makes all watches hang: they receive neither events nor an end. Each new watch receives only its response
// header. It forwards everything else.
func (p *HTTP) SilenceWatches() { p.set("silent", 0) }

// WithholdBookmarks makes all watches begin again, without bookmarks other than the one that ends the initial objects. It forwards
// everything else.
func (p *HTTP) WithholdBookmarks() { p.set("bookmarks", 0) }

// CutAll closes the connections of all watches and of every request without a response.
func (p *HTTP) CutAll() { p.set("all", 0) }

// Refuse closes all watches and responds to every request with a status.
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
	query := r.URL.Query()
	watches := query.Get("watch") != ""
	if watch == "bookmarks" && query.Get("sendInitialEvents") == "" {
		query.Del("allowWatchBookmarks")
		r.URL.RawQuery = query.Encode()
	}
	switch {
	case status != 0:
		http.Error(w, http.StatusText(status), status)
	case watch == "all":
		panic(http.ErrAbortHandler)
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

// passWatch forwards a watch until the proxy's behavior is changed.
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

// keep keeps a request open until the client cancels it or the proxy's behavior is changed.
func (p *HTTP) keep(r *http.Request, broken <-chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-broken:
	}
	panic(http.ErrAbortHandler)
}
