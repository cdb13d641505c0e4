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
)

func TestOnlyWhatIsMissingOrNoLongerGoodIsMadeAnew(t *testing.T) {
	k := keeper("")
	made := &corev1.Secret{}
	if changed, err := k.renew(made); !changed || err != nil {
		t.Fatalf("from nothing: %t, %v", changed, err)
	}
	other := &corev1.Secret{}
	if _, err := k.renew(other); err != nil {
		t.Fatal(err)
	}
	short := shortLived(t, k)
	ending := authority(t, 0, caRenewal-day)
	set := func(from map[string][]byte, changes map[string][]byte) map[string][]byte {
		data := maps.Clone(from)
		maps.Copy(data, changes)
		return data
	}
	for sentence, c := range map[string]struct {
		data               map[string][]byte
		service            string
		authority, serving bool // is made anew
	}{
		"all is well":                         {data: made.Data},
		"nothing is there":                    {data: nil, authority: true, serving: true},
		"the certificate is empty":            {data: set(made.Data, map[string][]byte{"tls.crt": {}}), serving: true},
		"the key is empty":                    {data: set(made.Data, map[string][]byte{"tls.key": {}}), serving: true},
		"the certificate is another's":        {data: set(made.Data, map[string][]byte{"tls.crt": other.Data["tls.crt"]}), serving: true},
		"the pair is of another authority":    {data: set(other.Data, map[string][]byte{"ca.crt": made.Data["ca.crt"], "ca.key": made.Data["ca.key"]}), serving: true},
		"the certificate is about to expire":  {data: short, serving: true},
		"the Service has another name":        {data: made.Data, service: "renamed", serving: true},
		"the authority is empty":              {data: set(made.Data, map[string][]byte{"ca.crt": {}}), authority: true, serving: true},
		"the authority's key is empty":        {data: set(made.Data, map[string][]byte{"ca.key": {}}), authority: true, serving: true},
		"the authority's key is another's":    {data: set(made.Data, map[string][]byte{"ca.key": other.Data["ca.key"]}), authority: true, serving: true},
		"the authority is a text":             {data: set(made.Data, map[string][]byte{"ca.crt": []byte("ca")}), authority: true, serving: true},
		"the certificate is not valid yet":    {data: ahead(t, k, 0, 20*day), serving: true},
		"a clock was ahead by 20 days":        {data: ahead(t, k, 20*day, 20*day), authority: true, serving: true},
		"a clock was ahead by 200 days":       {data: ahead(t, k, 200*day, 200*day), authority: true, serving: true},
		"a clock was ahead by half an hour":   {data: ahead(t, k, backdate/2, backdate/2)},
		"the authority expires within a year": {data: set(made.Data, map[string][]byte{"ca.crt": ending.CertPEM, "ca.key": ending.KeyPEM}), authority: true, serving: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			k := keeper("")
			if c.service != "" {
				k.Service = c.service
			}
			secret := &corev1.Secret{Data: c.data}
			changed, err := k.renew(secret)
			if err != nil {
				t.Fatal(err)
			}
			if changed != (c.authority || c.serving) {
				t.Errorf("changed: %t", changed)
			}
			if got := !bytes.Equal(secret.Data["ca.crt"], c.data["ca.crt"]); got != c.authority {
				t.Errorf("a new authority: want %t, got %t", c.authority, got)
			}
			if got := !bytes.Equal(secret.Data["tls.crt"], c.data["tls.crt"]); got != c.serving {
				t.Errorf("a new certificate: want %t, got %t", c.serving, got)
			}
			wantServed(t, k, secret.Data)
			if again, err := k.renew(secret); again || err != nil {
				t.Errorf("once more: %t, %v", again, err)
			}
		})
	}
}

// ahead is a Secret whose authority and certificate were made by replicas whose clocks were ahead.
func ahead(t *testing.T, k *Keeper, authorityBy, servingBy time.Duration) map[string][]byte {
	t.Helper()
	a := authority(t, -authorityBy, caDuration)
	maker := &rotator.CertRotator{DNSName: k.names()[0], ExtraDNSNames: k.names()[1:], ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	made := time.Now().Add(servingBy)
	crt, key, err := maker.CreateCertPEM(a, made.Add(-backdate), made.Add(servingFor-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"ca.crt": a.CertPEM, "ca.key": a.KeyPEM, "tls.crt": crt, "tls.key": key}
}

func TestTheAuthorityBeforeIsKeptInTheSecret(t *testing.T) {
	old := authority(t, 0, caRenewal-day)
	for sentence, c := range map[string]struct {
		data map[string][]byte
		last []byte
		want []byte
	}{
		"there is none yet":            {nil, nil, nil},
		"it is about to expire":        {map[string][]byte{"ca.crt": old.CertPEM, "ca.key": old.KeyPEM}, nil, old.CertPEM},
		"the Secret has been deleted":  {nil, old.CertPEM, old.CertPEM},
		"the authority has been taken": {map[string][]byte{"ca.crt": {}}, old.CertPEM, old.CertPEM},
	} {
		k := keeper("")
		k.last = c.last
		secret := &corev1.Secret{Data: c.data}
		if _, err := k.renew(secret); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(secret.Data[caPrevious], c.want) {
			t.Errorf("%s: got %q, want %q", sentence, secret.Data[caPrevious], c.want)
		}
		secret.Data["tls.crt"] = nil
		if _, err := k.renew(secret); err != nil || !bytes.Equal(secret.Data[caPrevious], c.want) {
			t.Errorf("%s: a new certificate changes it: %v", sentence, err)
		}
	}
}

// TestACertificateIsValidSinceItsAuthorityIs has a replica renew it whose clock is ahead: the others take it all the same.
func TestACertificateIsValidSinceItsAuthorityIs(t *testing.T) {
	k := keeper("")
	a := authority(t, 100*day, caDuration)
	secret := &corev1.Secret{Data: map[string][]byte{"ca.crt": a.CertPEM, "ca.key": a.KeyPEM}}
	if _, err := k.renew(secret); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	if begins := pair.Leaf.NotBefore; !begins.Equal(a.Cert.NotBefore) {
		t.Errorf("the certificate begins at %s, its authority at %s", begins, a.Cert.NotBefore)
	}
}

// shortLived is a Secret whose certificate is good, and is to be renewed.
func shortLived(t *testing.T, k *Keeper) map[string][]byte {
	t.Helper()
	a := authority(t, 0, caDuration)
	maker := &rotator.CertRotator{DNSName: k.names()[0], ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	crt, key, err := maker.CreateCertPEM(a, time.Now().Add(-backdate), time.Now().Add(servingRenewal-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"ca.crt": a.CertPEM, "ca.key": a.KeyPEM, "tls.crt": crt, "tls.key": key}
}

// wantServed holds that a client which trusts the authority takes the certificate for the Service, until it is renewed.
func wantServed(t *testing.T, k *Keeper, data map[string][]byte) {
	t.Helper()
	pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data["ca.crt"])
	for _, name := range []string{k.Service, k.Service + ".handoff-system", k.Service + ".handoff-system.svc"} {
		options := x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: time.Now().Add(servingRenewal)}
		if _, err := pair.Leaf.Verify(options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, at := range []time.Time{time.Now(), time.Now().Add(servingRenewal)} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at}); err != nil {
			t.Errorf("at %s: %v", at, err)
		}
	}
	if left := time.Until(pair.Leaf.NotAfter); left > servingFor {
		t.Errorf("it is valid for %s", left)
	}
}
