package serving_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/webhook/serving"
)

func TestWhileThePairOnDiskIsBrokenTheLastGoodOneIsServedAndReadinessSaysWhy(t *testing.T) {
	t.Parallel()
	good, other := issue(t, "good", nil, ago, soon), issue(t, "other", nil, ago, soon)
	expired, early := issue(t, "expired", nil, 2*ago, ago), issue(t, "early", nil, soon, 2*soon)
	for sentence, c := range map[string]struct {
		crt, key []byte
		want     []string // what readiness says; {crt} and {key} stand for the files
	}{
		"both are missing":           {nil, nil, []string{"{crt}", "no such file"}},
		"the certificate is missing": {nil, good.key, []string{"{crt}", "no such file"}},
		"the key is missing":         {good.crt, nil, []string{"{key}", "no such file"}},
		"the certificate is empty":   {[]byte{}, good.key, []string{"{crt}", "failed to find any PEM data"}},
		"half a certificate":         {good.crt[:len(good.crt)/2], good.key, []string{"{crt}", "failed to find any PEM data"}},
		"half a key":                 {good.crt, good.key[:len(good.key)/2], []string{"{key}", "failed to find any PEM data"}},
		"the key of another":         {good.crt, other.key, []string{"{crt}", "{key}", "private key does not match public key"}},
		"a text":                     {[]byte("certificate"), []byte("key"), []string{"{crt}", "failed to find any PEM data"}},
		"one that has expired":       {expired.crt, expired.key, []string{"{crt}", "has expired at 2"}},
		"one that is not valid yet":  {early.crt, early.key, []string{"{crt}", "not valid before 2"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reviews{}, serving.Options{})
			names := strings.NewReplacer("{crt}", filepath.Join(s.options.CertDir, "tls.crt"), "{key}", filepath.Join(s.options.CertDir, "tls.key"))
			said := func(when string, more ...string) {
				t.Helper()
				text := s.check("certificate")
				for _, want := range append(c.want, more...) {
					if want = names.Replace(want); !strings.Contains(text, want) {
						t.Errorf("%s: want %q in %q", when, want, text)
					}
				}
			}
			s.writePair(c.crt, c.key)
			said("at the start")
			if s.served() != nil {
				t.Error("it is served")
			}
			for range 2 { // it recovers each time
				s.writePair(other.crt, other.key)
				if text := s.check("certificate"); text != "" {
					t.Errorf("a good one is there: %s", text)
				}
				eventually(t, "the good one is served", func() bool { return bytes.Equal(s.served(), other.pair.Certificate[0]) })
				s.writePair(c.crt, c.key)
				said("after a good one", "; the last good certificate, valid until "+other.pair.Leaf.NotAfter.Format(time.RFC3339))
				if !bytes.Equal(s.served(), other.pair.Certificate[0]) {
					t.Error("the last good one is not served any more")
				}
			}
			if !strings.Contains(s.logged(), filepath.Join(s.options.CertDir, "tls.")) {
				t.Errorf("the log does not name the file:\n%s", s.logged())
			}
			if n := strings.Count(s.logged(), "is not as it should be"); n > 8 {
				t.Errorf("it is logged %d times:\n%s", n, s.logged())
			}
		})
	}
}

// Nobody asks for readiness here: what is on disk is followed all the same.
func TestAChangedPairIsServedSoon(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{})
	for _, name := range []string{"first", "second", "third"} {
		pair := issue(t, name, nil, ago, soon)
		s.writePair(pair.crt, pair.key)
		eventually(t, name+" is served", func() bool { return bytes.Equal(s.served(), pair.pair.Certificate[0]) })
	}
}

func TestACertificateThatExpiresWhileItIsServedIsNotReadyAndIsServedAllTheSame(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{})
	pair := issue(t, "short", nil, ago, 8*time.Second)
	s.writePair(pair.crt, pair.key)
	if text := s.check("certificate"); text != "" {
		t.Errorf("still good: %s", text)
	}
	eventually(t, "readiness says that it has expired", func() bool { return strings.Contains(s.check("certificate"), "has expired") })
	if text := s.check("certificate"); strings.Contains(text, "last good") {
		t.Errorf("there is no better one: %s", text)
	}
	if answer, err := s.post(); answer != "reviewed" || err != nil {
		t.Errorf("who does not mind is answered: %q, %v", answer, err)
	}
}
