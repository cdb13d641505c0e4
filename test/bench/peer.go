package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// peer is the webhook that handoff is compared with, in a process of its own. It sends the same JSON patch for each write.
type peer struct {
	// url is the address for reviews, ca the PEM-encoded CA certificate.
	url string
	ca  []byte

	process *process.Process
}

// startPeer starts this program as the peer. If it is not stopped, it is terminated with the control plane.
func startPeer(ctx context.Context, controlPlane *controlplane.ControlPlane) (*peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	dir, err := os.MkdirTemp(controlPlane.Dir, "peer-*")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the constant patch: %w", err)
	}
	ports, err := process.FreePorts(1)
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	p := &peer{url: "https://" + address + "/mutate"}
	if p.ca, err = handofftest.WriteCertificate(dir); err != nil {
		return nil, err
	}
	if p.process, err = process.Start(filepath.Join(dir, "log"), self, "-peer="+address, "-certificates="+dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := p.process.WaitHealthy(ctx, "https://"+address+"/healthz"); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// stop terminates the process.
func (p *peer) stop() error { return p.process.Stop(5 * time.Second) }

// servePeer serves the constant patch over TLS and HTTP/1.1, as handoff does, until the context ends.
func servePeer(ctx context.Context, address, certificates string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mutate", sendPatch)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{
		Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}},
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	err := server.ListenAndServeTLS(filepath.Join(certificates, "tls.crt"), filepath.Join(certificates, "tls.key"))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving the constant patch: %w", err)
}

// sendPatch allows a write with the patch. It reads only the UID of the review.
func sendPatch(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	patch, failed := json.Marshal(fmt.Appendf(nil, `[{"op":"replace","path":"/spec/replicas","value":%d}]`, scaled))
	if err := errors.Join(err, failed); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	const format = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",` +
		`"response":{"uid":%q,"allowed":true,"patchType":"JSONPatch","patch":%s}}`
	fmt.Fprintf(w, format, review.Request.UID, patch)
}
