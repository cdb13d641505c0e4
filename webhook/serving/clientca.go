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
)

// newClientCA returns the CA certificates that sign the certificates of clients.
func newClientCA(file string, log logr.Logger) *files[*x509.CertPool] {
	return &files[*x509.CertPool]{
		subject: "client CA", kept: "using the last valid CA bundle", rejected: "; all clients are rejected", log: log,
		read: func() (content[*x509.CertPool], error) {
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
func readBundle(file string) (read content[*x509.CertPool], err error) {
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
	read = content[*x509.CertPool]{
		value: x509.NewCertPool(), encoded: text, details: []any{"file", file, "certificates", len(bundle)},
	}
	valid, now := false, time.Now()
	for _, ca := range bundle {
		read.value.AddCert(ca)
		valid = valid || now.After(ca.NotBefore) && now.Before(ca.NotAfter)
		if ca.NotAfter.After(read.expires) {
			read.expires = ca.NotAfter
		}
	}
	if !valid {
		return read, errors.New("all certificates have expired or are not valid yet")
	}
	return read, nil
}
