package serving

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/ownership-handoff/handoff/internal/mounted"
)

// partialWrite is how long the two files may be inconsistent while they are being written.
const partialWrite = 50 * time.Millisecond

// newCertificate returns the serving certificate: the files tls.crt and tls.key in a directory, as in a mounted Secret of type
// kubernetes.io/tls.
func newCertificate(folder string, log logr.Logger) *mounted.Files[*tls.Certificate] {
	crt, key := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	return &mounted.Files[*tls.Certificate]{
		Subject: "certificate", Kept: "serving the last valid certificate", Log: log,
		Read: func() (mounted.Content[*tls.Certificate], error) { return readCertificate(crt, key) },
	}
}

func readCertificate(crt, key string) (read mounted.Content[*tls.Certificate], err error) {
	pair, err := tls.LoadX509KeyPair(crt, key)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		time.Sleep(partialWrite)
		pair, err = tls.LoadX509KeyPair(crt, key)
	}
	if err != nil {
		return read, fmt.Errorf("certificate %s with key %s: %w", crt, key, err)
	}
	leaf := pair.Leaf
	read = mounted.Content[*tls.Certificate]{
		Value: &pair, Encoded: slices.Concat(pair.Certificate...), Expires: leaf.NotAfter,
		Details: []any{"file", crt, "subject", leaf.Subject.String(), "notAfter", leaf.NotAfter},
	}
	switch now := time.Now(); {
	case now.After(leaf.NotAfter):
		return read, fmt.Errorf("certificate %s: expired at %s", crt, leaf.NotAfter.Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return read, fmt.Errorf("certificate %s: not valid before %s", crt, leaf.NotBefore.Format(time.RFC3339))
	default:
		return read, nil
	}
}

// registerExpiry registers the metric of the serving certificate's expiration.
func registerExpiry(certificate *mounted.Files[*tls.Certificate], r prometheus.Registerer) {
	promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "handoff_certificate_expiration_timestamp_seconds",
		Help: "Expiration time of the serving certificate, in seconds since the Unix epoch; 0 if none is loaded.",
	}, func() float64 {
		if used := certificate.Used(); used != nil {
			return float64(used.Expires.Unix())
		}
		return 0
	})
}
