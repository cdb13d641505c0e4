package serving

import (
	"crypto/tls"
	stdlog "log"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

// tlsConfig returns the TLS configuration. With a client CA, every client needs a certificate: only /mutate is served on this
// port; health probes and metrics have their own ports.
func (s *Server) tlsConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: s.certificate.get}
	if s.clients == nil {
		return c
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.VerifyConnection = s.clients.verifyName
	// A resumed session would not be verified against the current CA bundle.
	c.SessionTicketsDisabled = true
	base := c.Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool, err := s.clients.caPool()
		if err != nil {
			return nil, err // with a nil pool, the CAs of the system would be trusted
		}
		current := base.Clone()
		current.ClientCAs = pool
		return current, nil
	}
	return c
}

// errorLog returns the error log of http.Server. It is rate-limited, because most errors are failed TLS handshakes, which can be
// frequent.
func errorLog(log logr.Logger) *stdlog.Logger {
	return stdlog.New(&connectionLog{log: log}, "", 0)
}

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
