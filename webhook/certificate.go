package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// certificateRetry is how long to wait before a certificate that cannot be read is tried again.
const certificateRetry = time.Second

var errNoCertificate = errors.New("no certificate is loaded yet")

// Certificate is the serving certificate: the files tls.crt and tls.key of a folder, as a Secret of type
// kubernetes.io/tls is mounted. They may come late, and are read again whenever they change.
type Certificate struct {
	crt, key string
	log      logr.Logger
	watcher  atomic.Pointer[certwatcher.CertWatcher]
	problem  atomic.Pointer[error]
}

// NewCertificate returns the certificate in a folder. Nothing is read before Start.
func NewCertificate(folder string, log logr.Logger) *Certificate {
	return &Certificate{crt: filepath.Join(folder, "tls.crt"), key: filepath.Join(folder, "tls.key"), log: log}
}

// Start reads the files, tries again until they are a certificate, and then follows them until the context ends.
func (c *Certificate) Start(ctx context.Context) error {
	for said := ""; ; {
		watcher, err := certwatcher.New(c.crt, c.key)
		if err == nil {
			c.watcher.Store(watcher)
			return watcher.Start(ctx)
		}
		err = fmt.Errorf("certificate %s with key %s: %w", c.crt, c.key, err)
		c.problem.Store(&err)
		if err.Error() != said {
			said = err.Error()
			c.log.Error(err, "the certificate cannot be loaded; trying again every second")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(certificateRetry):
		}
	}
}

// Get returns the certificate to serve with (tls.Config.GetCertificate).
func (c *Certificate) Get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	watcher := c.watcher.Load()
	if watcher == nil {
		return nil, errNoCertificate
	}
	return watcher.GetCertificate(hello)
}

// Check is a readiness check (healthz.Checker): an error until a certificate is loaded.
func (c *Certificate) Check(*http.Request) error {
	if c.watcher.Load() != nil {
		return nil
	}
	if problem := c.problem.Load(); problem != nil {
		return *problem
	}
	return errNoCertificate
}
