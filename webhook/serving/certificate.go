package serving

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

var errNoCertificate = errors.New("no certificate loaded yet")

// partialWrite is how long the two files may be inconsistent while they are being written.
const partialWrite = 50 * time.Millisecond

// certificate is the serving certificate: the files tls.crt and tls.key in a directory, as in a mounted Secret of type
// kubernetes.io/tls. The files may appear late, and change. The last valid pair is served.
type certificate struct {
	crt, key string
	log      changeLog
	mutex    sync.Mutex // guards reload
	served   atomic.Pointer[tls.Certificate]
}

func newCertificate(folder string, log logr.Logger) *certificate {
	return &certificate{
		crt: filepath.Join(folder, "tls.crt"), key: filepath.Join(folder, "tls.key"),
		log: changeLog{log: log, subject: "certificate"},
	}
}

// get returns the serving certificate (tls.Config.GetCertificate).
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if served := c.served.Load(); served != nil {
		return served, nil
	}
	return nil, errNoCertificate
}

// expiry returns the metric of the serving certificate's expiration.
func (c *certificate) expiry() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "handoff_certificate_expiration_timestamp_seconds",
		Help: "Expiration time of the serving certificate, in seconds since the Unix epoch; 0 if none is loaded.",
	}, func() float64 {
		served := c.served.Load()
		if served == nil {
			return 0
		}
		return float64(served.Leaf.NotAfter.Unix())
	})
}

// reload serves the pair on disk if it is valid. It returns what is wrong with the pair on disk, which may be the one that is
// served.
func (c *certificate) reload() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	pair, err := c.read()
	if err == nil {
		err = c.valid(pair, time.Now())
	}
	served := c.served.Load()
	same := served != nil && slices.EqualFunc(pair.Certificate, served.Certificate, slices.Equal)
	switch {
	case err == nil && !same:
		c.served.Store(&pair)
		c.log.loaded("file", c.crt, "subject", pair.Leaf.Subject.String(), "notAfter", pair.Leaf.NotAfter)
	case err != nil && served != nil && !same:
		err = fmt.Errorf("%w; still serving the last valid certificate, which expires at %s",
			err, served.Leaf.NotAfter.Format(time.RFC3339))
	}
	c.log.update(err)
	return err
}

func (c *certificate) read() (tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.crt, c.key)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		time.Sleep(partialWrite)
		pair, err = tls.LoadX509KeyPair(c.crt, c.key)
	}
	if err != nil {
		return pair, fmt.Errorf("certificate %s with key %s: %w", c.crt, c.key, err)
	}
	return pair, nil
}

func (c *certificate) valid(pair tls.Certificate, now time.Time) error {
	switch leaf := pair.Leaf; {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("certificate %s: expired at %s", c.crt, leaf.NotAfter.Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("certificate %s: not valid before %s", c.crt, leaf.NotBefore.Format(time.RFC3339))
	default:
		return nil
	}
}

// changeLog logs the state of a file when it changes, and not at each reload.
type changeLog struct {
	log     logr.Logger
	subject string
	last    string
}

func (l *changeLog) loaded(keysAndValues ...any) {
	l.log.Info(l.subject+" loaded", keysAndValues...)
}

func (l *changeLog) update(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == l.last:
	case err != nil:
		l.log.Error(err, l.subject+" is missing or invalid; checking again every second")
	default:
		l.log.Info(l.subject + " is valid again")
	}
	l.last = text
}
