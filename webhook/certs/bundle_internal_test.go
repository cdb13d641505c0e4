package certs

import (
	"bytes"
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"k8s.io/client-go/rest"
)

func newRotator(dir string) *Rotator {
	r, err := New(&rest.Config{}, Options{
		Namespace: "handoff-system", Service: "handoff-webhook", Dir: dir, Log: logr.Discard(),
	})
	if err != nil {
		panic(err) // the configuration is valid
	}
	return r
}

// newCA returns a CA of the given age, which was created for the given duration.
func newCA(t *testing.T, age, duration time.Duration) *rotator.KeyPairArtifacts {
	t.Helper()
	created := time.Now().Add(-age)
	maker := &rotator.CertRotator{CAName: caName, CAOrganization: project}
	a, err := maker.CreateCACert(created.Add(-backdate), created.Add(duration))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// allKnown treats every CA as known.
func allKnown(*x509.Certificate) bool { return true }

func TestTheOldCAStaysInTheBundleForADay(t *testing.T) {
	older, old := newCA(t, 800*day, caDuration).CertPEM, newCA(t, 400*day, caDuration).CertPEM
	settled, fresh := newCA(t, overlap+time.Minute, caDuration).CertPEM, newCA(t, overlap-time.Minute, caDuration).CertPEM
	newest, expired := newCA(t, 0, caDuration).CertPEM, newCA(t, 400*day, 399*day).CertPEM
	for sentence, c := range map[string]struct{ ca, before, want []byte }{
		"the bundle is empty":                       {newest, nil, newest},
		"the bundle is a placeholder":               {newest, []byte("\n"), newest},
		"the CA is in the bundle":                   {settled, settled, settled},
		"a new CA is added":                         {newest, settled, slices.Concat(newest, settled)},
		"two new CAs are added within a day":        {newest, slices.Concat(fresh, old), slices.Concat(newest, fresh, old)},
		"both CAs are in the bundle":                {newest, slices.Concat(newest, settled), slices.Concat(newest, settled)},
		"both CAs are in another order":             {newest, slices.Concat(settled, newest), slices.Concat(newest, settled)},
		"before a day has passed":                   {fresh, slices.Concat(fresh, old), slices.Concat(fresh, old)},
		"after a day has passed":                    {settled, slices.Concat(settled, old, older), settled},
		"an old CA has expired":                     {newest, slices.Concat(expired, old), slices.Concat(newest, old)},
		"another replica has just added a newer CA": {settled, slices.Concat(newest, settled, old), slices.Concat(newest, settled)},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := bundle(c.ca, c.before, allKnown, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(c.want), string(got)); diff != "" {
				t.Errorf("caBundle (-want +got):\n%s", diff)
			}
			if again, err := bundle(c.ca, got, allKnown, time.Now()); err != nil || !bytes.Equal(again, got) {
				t.Errorf("a second call returns another bundle: %v\n%s", err, again)
			}
		})
	}
	if _, err := bundle([]byte("not a CA"), newest, allKnown, time.Now()); err == nil || !strings.Contains(err.Error(), "ca.crt") {
		t.Errorf("a broken CA: got %v", err)
	}
}
