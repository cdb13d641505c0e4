package serving

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

var errNoClientCA = errors.New("no client CA loaded yet")

// clients verifies client certificates: a CA of the bundle must have signed them, and the common name must be one of names.
type clients struct {
	file  string
	names []string
	log   changeLog
	mutex sync.Mutex // guards reload
	text  []byte     // the PEM text of pool
	pool  atomic.Pointer[x509.CertPool]
}

func newClients(file string, names []string, log logr.Logger) *clients {
	return &clients{file: file, names: names, log: changeLog{log: log, subject: "client CA"}}
}

func (c *clients) caPool() (*x509.CertPool, error) {
	if pool := c.pool.Load(); pool != nil {
		return pool, nil
	}
	return nil, errNoClientCA
}

// verifyName verifies the common name, after the chain has been verified (tls.Config.VerifyConnection).
func (c *clients) verifyName(state tls.ConnectionState) error {
	if len(c.names) == 0 {
		return nil
	}
	if name := state.PeerCertificates[0].Subject.CommonName; !slices.Contains(c.names, name) {
		return fmt.Errorf("common name %q of the client certificate is not listed in --client-name", name)
	}
	return nil
}

// reload uses the bundle on disk if it is valid. It returns what is wrong with the bundle on disk.
func (c *clients) reload() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	text, err := os.ReadFile(c.file)
	var bundle []*x509.Certificate
	if err == nil {
		bundle, err = parseBundle(text, time.Now())
	}
	switch {
	case err == nil && !bytes.Equal(text, c.text):
		pool := x509.NewCertPool()
		for _, ca := range bundle {
			pool.AddCert(ca)
		}
		c.text = text
		c.pool.Store(pool)
		c.log.loaded("file", c.file, "certificates", len(bundle))
	case err != nil && c.text != nil:
		err = fmt.Errorf("client CA %s: %w; still using the last valid CA bundle", c.file, err)
	case err != nil:
		err = fmt.Errorf("client CA %s: %w; all clients are rejected", c.file, err)
	}
	c.log.update(err)
	return err
}

// parseBundle parses a CA bundle. A bundle with an error is rejected completely: a part of it would lock out the clients of the
// other CAs.
func parseBundle(text []byte, now time.Time) ([]*x509.Certificate, error) {
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
	switch valid := func(a *x509.Certificate) bool { return now.After(a.NotBefore) && now.Before(a.NotAfter) }; {
	case bytes.Contains(text, []byte("-----BEGIN")):
		return nil, fmt.Errorf("truncated in certificate %d", len(bundle)+1)
	case len(bundle) == 0:
		return nil, errors.New("contains no PEM certificate")
	case !slices.ContainsFunc(bundle, valid):
		return nil, errors.New("all certificates have expired or are not valid yet")
	}
	return bundle, nil
}
