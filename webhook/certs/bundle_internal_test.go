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
)

func keeper(folder string) *Keeper {
	return &Keeper{Options: Options{
		Namespace: "handoff-system", Service: "handoff-webhook", Folder: folder, Log: logr.Discard(),
	}, trusted: map[string]time.Time{}}
}

// authority makes one that was made so long ago, for so long.
func authority(t *testing.T, age, duration time.Duration) *rotator.KeyPairArtifacts {
	t.Helper()
	made := time.Now().Add(-age)
	a, err := (&rotator.CertRotator{CAName: caName, CAOrganization: project}).CreateCACert(made.Add(-backdate), made.Add(duration))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// everybody is known.
func everybody(*x509.Certificate) bool { return true }

func TestTheBundleHasTheOldAuthorityForADayBesideTheNewOne(t *testing.T) {
	older, old := authority(t, 800*day, caDuration).CertPEM, authority(t, 400*day, caDuration).CertPEM
	settled, fresh := authority(t, overlap+time.Minute, caDuration).CertPEM, authority(t, overlap-time.Minute, caDuration).CertPEM
	newest, expired := authority(t, 0, caDuration).CertPEM, authority(t, 400*day, 399*day).CertPEM
	for sentence, c := range map[string]struct{ ca, before, want []byte }{
		"there is none yet":                          {newest, nil, newest},
		"there is a placeholder":                     {newest, []byte("\n"), newest},
		"it is there":                                {settled, settled, settled},
		"a new one comes":                            {newest, settled, slices.Concat(newest, settled)},
		"two new ones come within a day":             {newest, slices.Concat(fresh, old), slices.Concat(newest, fresh, old)},
		"both are there":                             {newest, slices.Concat(newest, settled), slices.Concat(newest, settled)},
		"both are there in another order":            {newest, slices.Concat(settled, newest), slices.Concat(newest, settled)},
		"before a day has passed":                    {fresh, slices.Concat(fresh, old), slices.Concat(fresh, old)},
		"after a day has passed":                     {settled, slices.Concat(settled, old, older), settled},
		"an old one has expired":                     {newest, slices.Concat(expired, old), slices.Concat(newest, old)},
		"another replica has just added a newer one": {settled, slices.Concat(newest, settled, old), slices.Concat(newest, settled)},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := bundle(c.ca, c.before, everybody, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(c.want), string(got)); diff != "" {
				t.Errorf("caBundle (-want +got):\n%s", diff)
			}
			if again, err := bundle(c.ca, got, everybody, time.Now()); err != nil || !bytes.Equal(again, got) {
				t.Errorf("once more it is another: %v\n%s", err, again)
			}
		})
	}
	if _, err := bundle([]byte("no authority"), newest, everybody, time.Now()); err == nil || !strings.Contains(err.Error(), "ca.crt") {
		t.Errorf("a broken authority: got %v", err)
	}
}
