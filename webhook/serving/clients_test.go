package serving_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/webhook/serving"
)

func TestWithAClientCAOnlyItsClientsAreServed(t *testing.T) {
	t.Parallel()
	ours, theirs := issue(t, "ours", nil, ago, soon), issue(t, "theirs", nil, ago, soon)
	apiserver, other := issue(t, "apiserver", ours, ago, soon), issue(t, "other", ours, ago, soon)
	expired, stranger := issue(t, "apiserver", ours, 2*ago, ago), issue(t, "apiserver", theirs, ago, soon)
	for sentence, c := range map[string]struct {
		names  []string
		client *issued
		want   string // in the error; "": it is served
	}{
		"a client without a certificate":                 {nil, nil, "certificate required"},
		"a client of the authority":                      {nil, apiserver, ""},
		"another client of the authority":                {nil, other, ""},
		"a client of another authority":                  {nil, stranger, "unknown certificate authority"},
		"a client whose certificate has expired":         {nil, expired, "expired certificate"},
		"a client with the name":                         {[]string{"apiserver"}, apiserver, ""},
		"a client with one of the names":                 {[]string{"kubelet", "apiserver"}, apiserver, ""},
		"a client with another name":                     {[]string{"apiserver"}, other, "bad certificate"},
		"a client of another authority, with the name":   {[]string{"apiserver"}, stranger, "unknown certificate authority"},
		"a client without a certificate, and with names": {[]string{"apiserver"}, nil, "certificate required"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			bundle := filepath.Join(t.TempDir(), "ca.crt")
			write(t, bundle, ours.crt)
			s := serve(t, reviews{}, serving.Options{ClientCA: bundle, ClientNames: c.names})
			s.ready()
			if text := s.check("client-ca"); text != "" {
				t.Fatalf("the bundle is good: %s", text)
			}
			answer, err := s.postAs(c.client)
			switch {
			case c.want == "" && (err != nil || answer != "reviewed"):
				t.Errorf("want it served, got %q, %v", answer, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("want %q in the error, got %q, %v", c.want, answer, err)
			}
		})
	}
}

func (s *server) postAs(client *issued) (string, error) {
	s.Helper()
	if client == nil {
		return s.post()
	}
	return s.post(client.pair)
}

func TestABrokenBundleKeepsTheLastGoodOneAndReadinessSaysWhy(t *testing.T) {
	t.Parallel()
	ours, theirs := issue(t, "ours", nil, ago, soon), issue(t, "theirs", nil, ago, soon)
	client, stranger := issue(t, "apiserver", ours, ago, soon), issue(t, "apiserver", theirs, ago, soon)
	expired := issue(t, "expired", nil, 2*ago, ago)
	both := slices.Concat(ours.crt, theirs.crt)
	for sentence, c := range map[string]struct {
		bundle []byte
		want   string
	}{
		"it is missing":             {nil, "no such file"},
		"it is empty":               {[]byte{}, "no certificate in PEM"},
		"it is a text":              {[]byte("authority"), "no certificate in PEM"},
		"it is cut":                 {both[:len(both)-40], "it ends within certificate number 2"},
		"it is a key":               {ours.key, "it holds a PRIVATE KEY"},
		"all of it has expired":     {expired.crt, "have expired"},
		"a block is no certificate": {[]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "its certificate number 1: x509"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ca.crt")
			write(t, file, c.bundle)
			s := serve(t, reviews{}, serving.Options{ClientCA: file})
			s.ready()
			said := func(more string) {
				t.Helper()
				text := s.check("client-ca")
				for _, want := range []string{file, c.want, more} {
					if !strings.Contains(text, want) {
						t.Errorf("want %q in %q", want, text)
					}
				}
			}
			served := func(who string, client *issued, want bool) {
				t.Helper()
				if answer, err := s.postAs(client); (err == nil && answer == "reviewed") != want {
					t.Errorf("%s: served is to be %t, got %q, %v", who, want, answer, err)
				}
			}
			said("no client is let in")
			served("before there is a bundle", client, false)

			write(t, file, ours.crt)
			if text := s.check("client-ca"); text != "" {
				t.Errorf("the bundle is good: %s", text)
			}
			served("ours", client, true)
			served("theirs", stranger, false)

			write(t, file, c.bundle)
			said("the last good bundle still counts")
			served("ours, after the bundle broke", client, true)
			served("theirs, after the bundle broke", stranger, false)

			write(t, file, both)
			eventually(t, "the new bundle counts", func() bool { answer, _ := s.postAs(stranger); return answer == "reviewed" })
			served("ours, in the new bundle", client, true)
			write(t, file, theirs.crt)
			eventually(t, "who has left the bundle is let out", func() bool { answer, _ := s.postAs(client); return answer == "" })
		})
	}
}
