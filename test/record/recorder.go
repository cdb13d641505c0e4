package main

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
	"sync"

	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// recorder is a proxy between an API server and a webhook that stores every AdmissionReview, byte for byte.
type recorder struct {
	server *httptest.Server
	next   http.Handler

	mutex   sync.Mutex
	reviews map[string][][]byte // by namespace
}

// inFrontOf starts a recorder for a webhook that is not registered yet. It changes the webhook's URL and CA, so that Register
// registers the recorder.
func inFrontOf(webhook *handofftest.Webhook) (*recorder, error) {
	target, err := url.Parse(webhook.URL)
	if err != nil {
		return nil, fmt.Errorf("recording reviews: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(webhook.CA) {
		return nil, errors.New("recording reviews: the webhook's CA is not a certificate")
	}
	r := &recorder{reviews: map[string][][]byte{}, next: &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}},
	}}
	r.server = httptest.NewTLSServer(r)
	webhook.URL = r.server.URL
	webhook.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	return r, nil
}

// ServeHTTP stores and forwards a review. That of a namespace, whose namespace is its own name, is stored for namespace "".
func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, "recorder: "+err.Error(), http.StatusBadRequest)
		return
	}
	var review struct {
		Request struct {
			Namespace string
			Kind      struct{ Kind string }
		}
	}
	_ = json.Unmarshal(body, &review) // the webhook reports malformed bodies
	namespace := review.Request.Namespace
	if review.Request.Kind.Kind == "Namespace" {
		namespace = ""
	}
	r.mutex.Lock()
	r.reviews[namespace] = append(r.reviews[namespace], body)
	r.mutex.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.next.ServeHTTP(w, req)
}

// of returns the reviews of objects in a namespace so far, in order.
func (r *recorder) of(namespace string) [][]byte {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.reviews[namespace]
}
