package serving

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/internal/mounted"
)

// newClientCA returns the CA certificates that sign the certificates of clients.
func newClientCA(file string, log logr.Logger) *mounted.Files[*x509.CertPool] {
	return &mounted.Files[*x509.CertPool]{
		Subject: "client CA", Kept: "using the last valid CA bundle", Rejected: "; all clients are rejected", Log: log,
		Read: func() (mounted.Content[*x509.CertPool], error) {
			read, err := readBundle(file)
			if err != nil {
				err = fmt.Errorf("client CA %s: %w", file, err)
			}
			return read, err
		},
	}
}

// readBundle reads a CA bundle. A bundle with an error is rejected completely: a part of it would lock out the clients of the other
// CAs.
func readBundle(file string) (read mounted.Content[*x509.CertPool], err error) {
	text, err := os.ReadFile(file) //nolint:gosec // the path comes from a flag
	if err != nil {
		return read, err
	}
	bundle, err := cert.ParseCertsPEM(text)
	if err != nil {
		return read, err
	}
	if blocks := bytes.Count(text, []byte("-----BEGIN")); blocks != len(bundle) {
		return read, fmt.Errorf("contains %d PEM blocks and %d whole certificates; only certificates are allowed", blocks, len(bundle))
	}
	read = mounted.Content[*x509.CertPool]{
		Value: x509.NewCertPool(), Encoded: text, Details: []any{"file", file, "certificates", len(bundle)},
	}
	valid, now := false, time.Now()
	for _, ca := range bundle {
		read.Value.AddCert(ca)
		valid = valid || now.After(ca.NotBefore) && now.Before(ca.NotAfter)
		if ca.NotAfter.After(read.Expires) {
			read.Expires = ca.NotAfter
		}
	}
	if !valid {
		return read, errors.New("all certificates have expired or are not valid yet")
	}
	return read, nil
}
