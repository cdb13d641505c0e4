package doctor_test

import (
	"crypto/x509"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
)

// certificate is a serving certificate and its CA, PEM-encoded.
type certificate struct{ chain, key, ca []byte }

// newCertificate returns a certificate for a DNS name from a new CA. With a negative validity, it has expired.
func newCertificate(name string, validity time.Duration) (c certificate, err error) {
	const day = 24 * time.Hour
	maker := rotator.CertRotator{
		CAName: "handoff-test-ca", CAOrganization: "handoff", DNSName: name, ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	now := time.Now()
	ca, err := maker.CreateCACert(now.Add(-365*day), now.Add(365*day))
	if err != nil {
		return c, err
	}
	c.ca = ca.CertPEM
	c.chain, c.key, err = maker.CreateCertPEM(ca, now.Add(-30*day), now.Add(validity))
	return c, err
}
