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

var errNoClientCA = errors.New("no client CA is loaded yet")

// clients says who may connect: whose certificate an authority of a bundle has signed, and who has one of the names.
type clients struct {
	file  string
	names []string
	said  lastSaid
	mutex sync.Mutex // of reload
	text  []byte     // of pool
	pool  atomic.Pointer[x509.CertPool]
}

func newClients(file string, names []string, log logr.Logger) *clients {
	return &clients{file: file, names: names, said: lastSaid{log: log, what: "client CA"}}
}

func (c *clients) authorities() (*x509.CertPool, error) {
	if pool := c.pool.Load(); pool != nil {
		return pool, nil
	}
	return nil, errNoClientCA
}

// verifyName is called after the chain has been verified (tls.Config.VerifyConnection).
func (c *clients) verifyName(state tls.ConnectionState) error {
	if len(c.names) == 0 {
		return nil
	}
	if name := state.PeerCertificates[0].Subject.CommonName; !slices.Contains(c.names, name) {
		return fmt.Errorf("the client certificate is of %q, which --client-name does not list", name)
	}
	return nil
}

// reload makes the bundle on disk the one that counts, if it is good. The error says what is wrong with it.
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
		for _, authority := range bundle {
			pool.AddCert(authority)
		}
		c.text = text
		c.pool.Store(pool)
		c.said.note("loaded", "file", c.file, "authorities", len(bundle))
	case err != nil && c.text != nil:
		err = fmt.Errorf("client CA %s: %w; the last good bundle still counts", c.file, err)
	case err != nil:
		err = fmt.Errorf("client CA %s: %w; no client is let in", c.file, err)
	}
	c.said.problem(err)
	return err
}

// parseBundle reads a bundle as a whole: half of one would lock out the clients of the other half.
func parseBundle(text []byte, now time.Time) ([]*x509.Certificate, error) {
	var bundle []*x509.Certificate
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it holds a %s, where only certificates belong", block.Type)
		}
		authority, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("its certificate number %d: %w", len(bundle)+1, err)
		}
		bundle = append(bundle, authority)
	}
	switch valid := func(a *x509.Certificate) bool { return now.After(a.NotBefore) && now.Before(a.NotAfter) }; {
	case bytes.Contains(text, []byte("-----BEGIN")):
		return nil, fmt.Errorf("it ends within certificate number %d", len(bundle)+1)
	case len(bundle) == 0:
		return nil, errors.New("it holds no certificate in PEM")
	case !slices.ContainsFunc(bundle, valid):
		return nil, errors.New("all its certificates have expired or are not valid yet")
	}
	return bundle, nil
}
