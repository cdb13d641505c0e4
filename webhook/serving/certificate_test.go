package serving_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/webhook/serving"
)

func TestABrokenPairIsReportedAndTheLastValidOneServed(t *testing.T) {
	t.Parallel()
	good, other := issue(t, "good", nil, ago, soon), issue(t, "other", nil, ago, soon)
	expired, early := issue(t, "expired", nil, 2*ago, ago), issue(t, "early", nil, soon, 2*soon)
	for sentence, c := range map[string]struct {
		crt, key []byte
		want     []string // in the readiness error; {crt} and {key} stand for the files
	}{
		"both files are missing":      {nil, nil, []string{"{crt}", "no such file"}},
		"the certificate is missing":  {nil, good.key, []string{"{crt}", "no such file"}},
		"the key is missing":          {good.crt, nil, []string{"{key}", "no such file"}},
		"the certificate is empty":    {[]byte{}, good.key, []string{"{crt}", "failed to find any PEM data"}},
		"a truncated certificate":     {good.crt[:len(good.crt)/2], good.key, []string{"{crt}", "failed to find any PEM data"}},
		"a truncated key":             {good.crt, good.key[:len(good.key)/2], []string{"{key}", "failed to find any PEM data"}},
		"another certificate's key":   {good.crt, other.key, []string{"{crt}", "{key}", "private key does not match public key"}},
		"files without PEM":           {[]byte("certificate"), []byte("key"), []string{"{crt}", "failed to find any PEM data"}},
		"an expired certificate":      {expired.crt, expired.key, []string{"{crt}", "expired at 2"}},
		"a certificate not valid yet": {early.crt, early.key, []string{"{crt}", "not valid before 2"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reviews{}, serving.Options{})
			eventually(t, "the server listens", func() bool { return s.check("serving") == "" })
			names := strings.NewReplacer("{crt}", filepath.Join(s.options.CertDir, "tls.crt"), "{key}", filepath.Join(s.options.CertDir, "tls.key"))
			wantError := func(when, text string, more ...string) {
				t.Helper()
				for _, want := range append(c.want, more...) {
					if want = names.Replace(want); !strings.Contains(text, want) {
						t.Errorf("%s: want %q in %q", when, want, text)
					}
				}
			}
			s.writePair(c.crt, c.key)
			wantError("at the start", s.check("certificate"))
			expect.Equal(t, "the broken certificate is served", false, s.served() != nil)
			for range 2 { // it recovers each time
				s.writePair(other.crt, other.key)
				expect.Equal(t, "with a valid certificate", "", s.warning("certificate"))
				eventually(t, "the valid certificate is served", func() bool { return bytes.Equal(s.served(), other.pair.Certificate[0]) })
				s.writePair(c.crt, c.key)
				wantError("after a valid one", s.warning("certificate"),
					"; still serving the last valid certificate, which expires at "+other.pair.Leaf.NotAfter.Format(time.RFC3339))
				expect.Equal(t, "the last valid certificate is served", true, bytes.Equal(s.served(), other.pair.Certificate[0]))
			}
			if !strings.Contains(s.logged(), filepath.Join(s.options.CertDir, "tls.")) {
				t.Errorf("the log does not name the file:\n%s", s.logged())
			}
			if n := strings.Count(s.logged(), "is missing or invalid"); n > 8 {
				t.Errorf("the error is logged %d times:\n%s", n, s.logged())
			}
		})
	}
}

// TestABrokenPairIsNotReadyOnceTheLastValidOneExpires verifies that a pod gets reviews as long as API servers accept its certificate.
func TestABrokenPairIsNotReadyOnceTheLastValidOneExpires(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{})
	pair := issue(t, "short", nil, ago, 8*time.Second)
	s.writePair(pair.crt, pair.key)
	eventually(t, "the server is ready", func() bool { return s.check("certificate") == "" })
	s.writePair(pair.crt, nil)
	if text := s.warning("certificate"); !strings.Contains(text, "tls.key: no such file") {
		t.Errorf("while the last valid certificate is served, want a warning, got %q", text)
	}
	eventually(t, "the server is no longer ready", func() bool { return strings.Contains(s.check("certificate"), "tls.key: no such file") })
	expect.Equal(t, "the certificate has expired", true, !pair.pair.Leaf.NotAfter.After(time.Now()))
}

func TestACertificateThatExpiresIsReportedAndStillServed(t *testing.T) {
	t.Parallel()
	s := serve(t, reviews{}, serving.Options{})
	pair := issue(t, "short", nil, ago, 8*time.Second)
	s.writePair(pair.crt, pair.key)
	expect.Equal(t, "before it expires", "", s.check("certificate"))
	eventually(t, "the check reports that it expired", func() bool { return strings.Contains(s.check("certificate"), "expired at") })
	if text := s.check("certificate"); strings.Contains(text, "last valid") {
		t.Errorf("the certificate on disk is the one served: %s", text)
	}
	expect.Equal(t, "a client that does not verify it", "reviewed", outcome(s.post()))
}
