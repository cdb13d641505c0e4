package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestRenewReplacesOnlyInvalidCertificates(t *testing.T) {
	r := newRotator("")
	created := &corev1.Secret{}
	if changed, err := r.renew(created); !changed || err != nil {
		t.Fatalf("an empty Secret: %t, %v", changed, err)
	}
	other := &corev1.Secret{}
	_, err := r.renew(other)
	expect.NoError(t, err)
	short := issued(t, r, newCA(t, 0, caDuration), -backdate, servingRenewal-time.Hour)
	ending := newCA(t, 0, caRenewal-day)
	set := func(from map[string][]byte, changes map[string][]byte) map[string][]byte {
		data := maps.Clone(from)
		maps.Copy(data, changes)
		return data
	}
	for sentence, c := range map[string]struct {
		data        map[string][]byte
		service     string
		ca, serving bool // whether they are renewed
	}{
		"valid certificates":                 {data: created.Data},
		"an empty Secret":                    {data: nil, ca: true, serving: true},
		"the certificate is empty":           {data: set(created.Data, map[string][]byte{"tls.crt": {}}), serving: true},
		"the key is empty":                   {data: set(created.Data, map[string][]byte{"tls.key": {}}), serving: true},
		"the certificate has another key":    {data: set(created.Data, map[string][]byte{"tls.crt": other.Data["tls.crt"]}), serving: true},
		"another CA signed the certificate":  {data: set(other.Data, map[string][]byte{"ca.crt": created.Data["ca.crt"], "ca.key": created.Data["ca.key"]}), serving: true},
		"the certificate is about to expire": {data: short, serving: true},
		"the Service has another name":       {data: created.Data, service: "renamed", serving: true},
		"the CA is empty":                    {data: set(created.Data, map[string][]byte{"ca.crt": {}}), ca: true, serving: true},
		"the CA key is empty":                {data: set(created.Data, map[string][]byte{"ca.key": {}}), ca: true, serving: true},
		"the CA has another key":             {data: set(created.Data, map[string][]byte{"ca.key": other.Data["ca.key"]}), ca: true, serving: true},
		"the CA is not PEM":                  {data: set(created.Data, map[string][]byte{"ca.crt": []byte("ca")}), ca: true, serving: true},
		"the certificate is not valid yet":   {data: ahead(t, r, 0, 20*day), serving: true},
		"a clock was ahead by 20 days":       {data: ahead(t, r, 20*day, 20*day), ca: true, serving: true},
		"a clock was ahead by 200 days":      {data: ahead(t, r, 200*day, 200*day), ca: true, serving: true},
		"a clock was ahead by half a day":    {data: ahead(t, r, day/2, day/2)},
		"the CA expires within a year":       {data: set(created.Data, map[string][]byte{"ca.crt": ending.CertPEM, "ca.key": ending.KeyPEM}), ca: true, serving: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRotator("")
			if c.service != "" {
				r.options.Service = c.service
			}
			secret := &corev1.Secret{Data: c.data}
			changed, err := r.renew(secret)
			expect.NoError(t, err)
			expect.Equal(t, "changed", c.ca || c.serving, changed)
			expect.Equal(t, "CA renewed", c.ca, !bytes.Equal(secret.Data["ca.crt"], c.data["ca.crt"]))
			expect.Equal(t, "certificate renewed", c.serving, !bytes.Equal(secret.Data["tls.crt"], c.data["tls.crt"]))
			wantValid(t, r, secret.Data)
			if again, err := r.renew(secret); again || err != nil {
				t.Errorf("a second renewal: %t, %v", again, err)
			}
		})
	}
}

// ahead returns the data of a Secret whose CA and certificate were created by replicas with clocks that were ahead.
func ahead(t *testing.T, r *Rotator, caBy, servingBy time.Duration) map[string][]byte {
	t.Helper()
	return issued(t, r, newCA(t, -caBy, caDuration), servingBy-backdate, servingBy+servingDuration-backdate)
}

// issued returns the data of a Secret with a CA, and with a certificate that is valid from a time until another, both from now.
func issued(t *testing.T, r *Rotator, a *rotator.KeyPairArtifacts, from, until time.Duration) map[string][]byte {
	t.Helper()
	host := r.options.Service + "." + r.options.Namespace
	maker := &rotator.CertRotator{
		DNSName: host + ".svc", ExtraDNSNames: []string{host, r.options.Service}, ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	crt, key, err := maker.CreateCertPEM(a, time.Now().Add(from), time.Now().Add(until))
	expect.NoError(t, err)
	return map[string][]byte{"ca.crt": a.CertPEM, "ca.key": a.KeyPEM, "tls.crt": crt, "tls.key": key}
}

func TestThePreviousCAIsStoredInTheSecret(t *testing.T) {
	old := newCA(t, 0, caRenewal-day)
	for sentence, c := range map[string]struct {
		data map[string][]byte
		last []byte
		want []byte
	}{
		"there is no CA yet":         {nil, nil, nil},
		"the CA is about to expire":  {map[string][]byte{"ca.crt": old.CertPEM, "ca.key": old.KeyPEM}, nil, old.CertPEM},
		"the Secret was deleted":     {nil, old.CertPEM, old.CertPEM},
		"the CA was removed from it": {map[string][]byte{"ca.crt": {}}, old.CertPEM, old.CertPEM},
	} {
		r := newRotator("")
		r.last = c.last
		secret := &corev1.Secret{Data: c.data}
		_, err := r.renew(secret)
		expect.NoError(t, err)
		if !bytes.Equal(secret.Data[caPrevious], c.want) {
			t.Errorf("%s: got %q, want %q", sentence, secret.Data[caPrevious], c.want)
		}
		secret.Data["tls.crt"] = nil
		if _, err := r.renew(secret); err != nil || !bytes.Equal(secret.Data[caPrevious], c.want) {
			t.Errorf("%s: a new certificate changes the previous CA: %v", sentence, err)
		}
	}
}

// TestACertificateStartsWithItsCA verifies that a certificate which a replica with a fast clock creates is valid for the others.
func TestACertificateStartsWithItsCA(t *testing.T) {
	r := newRotator("")
	a := newCA(t, 100*day, caDuration)
	secret := &corev1.Secret{Data: map[string][]byte{"ca.crt": a.CertPEM, "ca.key": a.KeyPEM}}
	_, err := r.renew(secret)
	expect.NoError(t, err)
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	expect.NoError(t, err)
	if begins := pair.Leaf.NotBefore; !begins.Equal(a.Cert.NotBefore) {
		t.Errorf("the certificate starts at %s, its CA at %s", begins, a.Cert.NotBefore)
	}
}

// wantValid verifies that clients which trust the CA accept the certificate for the Service until it is renewed.
func wantValid(t *testing.T, r *Rotator, data map[string][]byte) {
	t.Helper()
	pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	expect.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data["ca.crt"])
	for _, name := range []string{r.options.Service, r.options.Service + ".handoff-system", r.options.Service + ".handoff-system.svc"} {
		for _, at := range []time.Time{time.Now(), time.Now().Add(servingRenewal)} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: at}); err != nil {
				t.Errorf("%s at %s: %v", name, at, err)
			}
		}
	}
	if left := time.Until(pair.Leaf.NotAfter); left > servingDuration {
		t.Errorf("the certificate is valid for %s", left)
	}
}
