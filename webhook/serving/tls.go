package serving

import (
	"crypto/tls"
	stdlog "log"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/ownership-handoff/handoff/internal/ratelimit"
)

// tlsConfig asks for a client certificate at the level of TLS: nothing but /mutate is served here, health and metrics have
// ports of their own.
func (s *Server) tlsConfig() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: s.certificate.get}
	if s.clients == nil {
		return c
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.VerifyConnection = s.clients.verifyName
	// A resumed session would outlive the authority that let it in.
	c.SessionTicketsDisabled = true
	own := c.Clone()
	c.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool, err := s.clients.authorities()
		if err != nil {
			return nil, err // without a pool, the authorities of the system would do
		}
		current := own.Clone()
		current.ClientCAs = pool
		return current, nil
	}
	return c
}

// errorLog takes what the library has to say about connections: mostly handshakes that fail, which can be many.
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
	if strings.HasSuffix(text, ": EOF") { // whoever only looks whether the port is open
		c.log.V(1).Info("a connection failed", "reason", text)
		return len(line), nil
	}
	c.failing.Do(10*time.Second, func(times int) {
		c.log.Info("connections failed; this is the last one", "since the last line", times, "reason", text)
	})
	return len(line), nil
}
