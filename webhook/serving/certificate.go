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

var errNoCertificate = errors.New("no certificate is loaded yet")

// halfWritten is how long two files may be at odds with each other while somebody writes them.
const halfWritten = 50 * time.Millisecond

// certificate is the serving certificate: the files tls.crt and tls.key of a folder, as a Secret of type
// kubernetes.io/tls is mounted. They may come late, and change. What is served is the last pair that was good.
type certificate struct {
	crt, key string
	said     lastSaid
	mutex    sync.Mutex // of reload
	served   atomic.Pointer[tls.Certificate]
}

func newCertificate(folder string, log logr.Logger) *certificate {
	return &certificate{
		crt: filepath.Join(folder, "tls.crt"), key: filepath.Join(folder, "tls.key"),
		said: lastSaid{log: log, what: "certificate"},
	}
}

// get returns the certificate to serve with (tls.Config.GetCertificate).
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if served := c.served.Load(); served != nil {
		return served, nil
	}
	return nil, errNoCertificate
}

// expiry is the metric of when the certificate that is served expires.
func (c *certificate) expiry() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "handoff_certificate_expiration_timestamp_seconds",
		Help: "When the certificate that is served expires, in seconds since 1970; 0 while there is none.",
	}, func() float64 {
		served := c.served.Load()
		if served == nil {
			return 0
		}
		return float64(served.Leaf.NotAfter.Unix())
	})
}

// reload makes the pair on disk the one that is served, if it is good. The error says what is wrong with the pair on disk,
// or with the one that is served.
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
		c.said.note("loaded", "file", c.crt, "subject", pair.Leaf.Subject.String(), "until", pair.Leaf.NotAfter)
	case err != nil && served != nil && !same:
		err = fmt.Errorf("%w; the last good certificate, valid until %s, goes on being served",
			err, served.Leaf.NotAfter.Format(time.RFC3339))
	}
	c.said.problem(err)
	return err
}

func (c *certificate) read() (tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.crt, c.key)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		time.Sleep(halfWritten)
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
		return fmt.Errorf("certificate %s: it has expired at %s", c.crt, leaf.NotAfter.Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("certificate %s: it is not valid before %s", c.crt, leaf.NotBefore.Format(time.RFC3339))
	default:
		return nil
	}
}

// lastSaid logs what is wrong with a file once, and not each time that somebody looks.
type lastSaid struct {
	log  logr.Logger
	what string
	last string
}

func (l *lastSaid) note(text string, keysAndValues ...any) {
	l.log.Info(l.what+" "+text, keysAndValues...)
}

func (l *lastSaid) problem(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case text == l.last:
	case err != nil:
		l.log.Error(err, l.what+" is not as it should be; looking again every second")
	default:
		l.log.Info(l.what + " is as it should be again")
	}
	l.last = text
}
