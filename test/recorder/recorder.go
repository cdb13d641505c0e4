// Package recorder provides a proxy between an API server and a webhook that stores every AdmissionReview, byte for byte.
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

// Recorder is an HTTPS server that stores reviews and forwards them to a handler.
type Recorder struct {
	// URL is the recorder's address, without a path. CA is the PEM-encoded CA certificate.
	URL string
	CA  []byte

	next   http.Handler
	server *httptest.Server

	mutex   sync.Mutex
	reviews map[string][][]byte // by namespace
}

// Start starts a recorder for a handler. The caller must close it.
func Start(next http.Handler) *Recorder {
	r := &Recorder{next: next, reviews: map[string][][]byte{}}
	r.server = httptest.NewTLSServer(r)
	r.URL = r.server.URL
	r.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	return r
}

// InFrontOf starts a recorder for a webhook that is not registered yet. It changes the webhook's URL and CA, so that Register
// registers the recorder.
func InFrontOf(webhook *handofftest.Webhook) (*Recorder, error) {
	target, err := url.Parse(webhook.URL)
	if err != nil {
		return nil, fmt.Errorf("recording reviews: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(webhook.CA) {
		return nil, errors.New("recording reviews: the webhook's CA is not a certificate")
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}},
	}
	r := Start(proxy)
	webhook.URL, webhook.CA = r.URL, r.CA
	return r, nil
}

// Close stops the server when all requests in flight have finished.
func (r *Recorder) Close() { r.server.Close() }

// ServeHTTP stores and forwards a review. A body that is not a review of a namespaced object is stored for namespace "".
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, "recorder: "+err.Error(), http.StatusBadRequest)
		return
	}
	var review struct {
		Request struct {
			Namespace string `json:"namespace"`
			Resource  struct {
				Resource string `json:"resource"`
			} `json:"resource"`
		} `json:"request"`
	}
	_ = json.Unmarshal(body, &review) // the webhook reports malformed bodies

	r.mutex.Lock()
	namespace := review.Request.Namespace
	if review.Request.Resource.Resource == "namespaces" { // whose namespace is its own name
		namespace = ""
	}
	r.reviews[namespace] = append(r.reviews[namespace], body)
	r.mutex.Unlock()

	req.Body = io.NopCloser(bytes.NewReader(body))
	r.next.ServeHTTP(w, req)
}

// Reviews returns the bodies for objects in a namespace so far, in order. The caller must not modify them.
func (r *Recorder) Reviews(namespace string) [][]byte {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.reviews[namespace])
}

// Count returns the number of reviews of objects in a namespace so far.
func (r *Recorder) Count(namespace string) int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return len(r.reviews[namespace])
}
