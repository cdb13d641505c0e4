package serving

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
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

func readBundle(file string) (read content[*x509.CertPool], err error) {
	text, err := os.ReadFile(file) //nolint:gosec // the path comes from a flag
	if err != nil {
		return read, err
	}
	bundle, err := parseBundle(text)
	if err != nil {
		return read, err
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

// parseBundle parses a CA bundle. A bundle with an error is rejected completely: a part of it would lock out the clients of the
// other CAs.
func parseBundle(text []byte) ([]*x509.Certificate, error) {
	var bundle []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("contains a %s; only certificates are allowed", block.Type)
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(bundle)+1, err)
		}
		bundle = append(bundle, ca)
	}
	switch {
	case bytes.Contains(text, []byte("-----BEGIN")):
		return nil, fmt.Errorf("truncated in certificate %d", len(bundle)+1)
	case len(bundle) == 0:
		return nil, errors.New("contains no PEM certificate")
	}
	return bundle, nil
}
