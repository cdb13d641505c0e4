package serving

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

var (
	errNoCertificate = errors.New("no certificate loaded yet")
	errNoClientCA    = errors.New("no client CA loaded yet")
)

// tlsConfig returns the TLS configuration. With a client CA, every client needs a certificate: only /mutate is served on this
// port; health probes and metrics have their own ports.
func (s *Server) tlsConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if used := s.certificate.Used(); used != nil {
			return used.Value, nil
		}
		return nil, errNoCertificate
	}}
	if s.clientCA == nil {
		return c
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.VerifyConnection = s.verifyClientName
	// A resumed session would not be verified against the current CA bundle.
	c.SessionTicketsDisabled = true
	base := c.Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		used := s.clientCA.Used()
		if used == nil {
			return nil, errNoClientCA // with a nil pool, the CAs of the system would be trusted
		}
		current := base.Clone()
		current.ClientCAs = used.Value
		return current, nil
	}
	return c
}

// verifyClientName verifies the common name, after the chain has been verified (tls.Config.VerifyConnection).
func (s *Server) verifyClientName(state tls.ConnectionState) error {
	name := state.PeerCertificates[0].Subject.CommonName
	if len(s.options.ClientNames) > 0 && !slices.Contains(s.options.ClientNames, name) {
		return fmt.Errorf("common name %q of the client certificate is not listed in --client-name", name)
	}
	return nil
}

// connectionLog is the error log of http.Server. It is rate-limited, because most errors are failed TLS handshakes, which can be
// frequent.
type connectionLog struct {
	log     logr.Logger
	failing ratelimit.Log
}

const lineLimit = 300

func (c *connectionLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line[:min(len(line), lineLimit)]))
	if strings.HasSuffix(text, ": EOF") { // a client that only checks whether the port is open
		c.log.V(1).Info("connection failed", "reason", text)
		return len(line), nil
	}
	c.failing.Do(10*time.Second, func(times int) {
		c.log.Info("connections failed, logging the last one", "sinceLastLog", times, "reason", text)
	})
	return len(line), nil
}
