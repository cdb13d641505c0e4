// Package peer serves the webhook that handoff is compared with, in a process of its own. It sends the same JSON patch for each
// write.
package peer

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"
)

// Replicas are what the patch sets.
const Replicas = 7

// The path of the reviews, and one that is answered as soon as the process listens.
const (
	reviewPath = "/mutate"
	healthPath = "/healthz"
)

// Serve serves the webhook over TLS and HTTP/1.1, as handoff does, until the context ends.
func Serve(ctx context.Context, address, certificates string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+reviewPath, answer)
	mux.HandleFunc("GET "+healthPath, func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{
		Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}},
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	err := server.ListenAndServeTLS(filepath.Join(certificates, "tls.crt"), filepath.Join(certificates, "tls.key"))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving the constant patch: %w", err)
}

// answer allows a write with the patch. It reads only the UID of the review.
func answer(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	patch, failed := json.Marshal(fmt.Appendf(nil, `[{"op":"replace","path":"/spec/replicas","value":%d}]`, Replicas))
	if err := errors.Join(err, failed); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	const format = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",` +
		`"response":{"uid":%q,"allowed":true,"patchType":"JSONPatch","patch":%s}}`
	fmt.Fprintf(w, format, review.Request.UID, patch)
}
