// Package peers serves the webhooks that handoff is compared with, each in a process of its own.
package peers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"crypto/tls"
)

// The webhooks.
const (
	// Allow only says allowed.
	Allow = "allow"
	// Patch sends the same JSON patch for each write, which sets replicas to Replicas.
	Patch = "patch"
	// Typed sets replicas to Replicas as most webhooks in Go would: with the handler of controller-runtime, which decodes the object
	// into its Go type, encodes it again and compares both texts.
	Typed = "typed"
)

// Replicas are what the webhooks with a patch set.
const Replicas = 7

// Path is the path of the reviews; CountPath returns the number of reviews so far.
const (
	Path      = "/mutate"
	CountPath = "/count"
)

// Serve serves a webhook over TLS and HTTP/1.1, as handoff does, until the context ends.
func Serve(ctx context.Context, which, address, certificates string) error {
	handler, err := handlerOf(which)
	if err != nil {
		return err
	}
	var count atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, func(w http.ResponseWriter, req *http.Request) {
		count.Add(1)
		handler.ServeHTTP(w, req)
	})
	mux.HandleFunc("GET "+CountPath, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, count.Load()) })
	server := &http.Server{
		Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}},
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	err = server.ListenAndServeTLS(filepath.Join(certificates, "tls.crt"), filepath.Join(certificates, "tls.key"))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving webhook %s: %w", which, err)
}

func handlerOf(which string) (http.Handler, error) {
	switch which {
	case Allow:
		return constant(`"allowed":true`), nil
	case Patch:
		patch, err := json.Marshal(fmt.Appendf(nil, `[{"op":"replace","path":"/spec/replicas","value":%d}]`, Replicas))
		if err != nil {
			return nil, fmt.Errorf("encoding the patch: %w", err)
		}
		return constant(`"allowed":true,"patchType":"JSONPatch","patch":` + string(patch)), nil
	case Typed:
		return typed()
	default:
		return nil, fmt.Errorf("unknown webhook %q", which)
	}
}

// constant returns a handler that gives the same answer to each review.
func constant(answer string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var review struct {
			Request struct {
				UID string `json:"uid"`
			} `json:"request"`
		}
		if err == nil {
			err = json.Unmarshal(body, &review)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		const format = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,%s}}`
		fmt.Fprintf(w, format, review.Request.UID, answer)
	})
}
