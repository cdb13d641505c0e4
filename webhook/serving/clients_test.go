package serving_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/webhook/serving"
)

func (s *server) postAs(client *issued) (string, error) {
	s.Helper()
	if client == nil {
		return s.post()
	}
	return s.post(client.pair)
}

func TestABrokenBundleIsReportedAndTheLastValidOneUsed(t *testing.T) {
	t.Parallel()
	ours, theirs := issue(t, "ours", nil, ago, soon), issue(t, "theirs", nil, ago, soon)
	client, stranger := issue(t, "apiserver", ours, ago, soon), issue(t, "apiserver", theirs, ago, soon)
	expired := issue(t, "expired", nil, 2*ago, ago)
	both := slices.Concat(ours.crt, theirs.crt)
	for sentence, c := range map[string]struct {
		bundle []byte
		want   string
	}{
		"a missing file":              {nil, "no such file"},
		"an empty file":               {[]byte{}, "does not contain any valid"},
		"a file without PEM":          {[]byte("CA"), "does not contain any valid"},
		"a truncated certificate":     {both[:len(both)-40], "2 PEM blocks and 1 whole certificates"},
		"a private key":               {slices.Concat(ours.crt, ours.key), "2 PEM blocks and 1 whole certificates"},
		"only expired certificates":   {expired.crt, "have expired"},
		"a block without certificate": {[]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "x509"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ca.crt")
			write(t, file, c.bundle)
			s := serve(t, reviews{}, serving.Options{ClientCA: file})
			s.ready()
			wantError := func(text, more string) {
				t.Helper()
				for _, want := range []string{file, c.want, more} {
					if !strings.Contains(text, want) {
						t.Errorf("want %q in %q", want, text)
					}
				}
			}
			served := func(sentence string, client *issued, want bool) {
				t.Helper()
				if answer, err := s.postAs(client); (err == nil && answer == "reviewed") != want {
					t.Errorf("%s: want served %t, got %q, %v", sentence, want, answer, err)
				}
			}
			wantError(s.check("client-ca"), "all clients are rejected")
			served("before there is a bundle", client, false)

			write(t, file, ours.crt)
			expect.Equal(t, "with a valid bundle", "", s.warning("client-ca"))
			served("ours", client, true)
			served("theirs", stranger, false)

			write(t, file, c.bundle)
			wantError(s.warning("client-ca"), "still using the last valid CA bundle")
			served("ours, after the bundle broke", client, true)
			served("theirs, after the bundle broke", stranger, false)

			write(t, file, both)
			eventually(t, "the new bundle is used", func() bool { answer, _ := s.postAs(stranger); return answer == "reviewed" })
			served("ours, in the new bundle", client, true)
			write(t, file, theirs.crt)
			eventually(t, "clients of the removed CA are rejected", func() bool { answer, _ := s.postAs(client); return answer == "" })
		})
	}
}
