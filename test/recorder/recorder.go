// Package recorder stands between an API server and a webhook and keeps every AdmissionReview that passes, byte for byte.
package recorder

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// Recorder is an HTTPS server that passes what it is asked on to a handler. It never answers by itself.
type Recorder struct {
	// URL is where it serves, without a path. CA is the PEM of the authority behind its certificate.
	URL string
	CA  []byte

	next   http.Handler
	server *httptest.Server

	mutex   sync.Mutex
	reviews map[string][][]byte // by namespace
}

// Start starts a recorder in front of a handler. The caller must Close it.
func Start(next http.Handler) *Recorder {
	r := &Recorder{next: next, reviews: map[string][][]byte{}}
	r.server = httptest.NewTLSServer(r)
	r.URL = r.server.URL
	r.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	return r
}

// InFrontOf starts a recorder in front of a webhook that is not registered yet: Register makes the API server call the
// recorder in its place.
func InFrontOf(webhook *handofftest.Webhook) (*Recorder, error) {
	target, err := url.Parse(webhook.URL)
	if err != nil {
		return nil, fmt.Errorf("record what the webhook is asked: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(webhook.CA) {
		return nil, errors.New("record what the webhook is asked: its authority is no certificate")
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}},
	}
	r := Start(proxy)
	webhook.URL, webhook.CA = r.URL, r.CA
	return r, nil
}

// Close ends the server once it has answered what it has accepted.
func (r *Recorder) Close() { r.server.Close() }

// ServeHTTP keeps a review and passes it on. What is no review of an object in a namespace counts for the namespace "".
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, "recorder: "+err.Error(), http.StatusBadRequest)
		return
	}
	var review struct {
		Request struct {
			Namespace string `json:"namespace"`
		} `json:"request"`
	}
	_ = json.Unmarshal(body, &review) // what is to be said about a broken body is for the webhook to say

	r.mutex.Lock()
	namespace := review.Request.Namespace
	r.reviews[namespace] = append(r.reviews[namespace], body)
	r.mutex.Unlock()

	req.Body = io.NopCloser(bytes.NewReader(body))
	r.next.ServeHTTP(w, req)
}

// Reviews are the bodies that came for objects in a namespace so far, in order. They must not be changed.
func (r *Recorder) Reviews(namespace string) [][]byte {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.reviews[namespace])
}

// Count is how many reviews came for objects in a namespace so far.
func (r *Recorder) Count(namespace string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.reviews[namespace])
}
