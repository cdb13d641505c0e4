package serving_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// issued is a certificate and its key, in PEM and parsed.
type issued struct {
	crt, key []byte
	pair     tls.Certificate
}

// issue creates a certificate for a name, signed by a CA, or self-signed if ca is nil.
func issue(t *testing.T, name string, ca *issued, notBefore, notAfter time.Duration) *issued {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	expect.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(notBefore), NotAfter: time.Now().Add(notAfter),
		IsCA: ca == nil, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.NoError(t, err)
	parent, signer := template, any(key)
	if ca != nil {
		parent, signer = ca.pair.Leaf, ca.pair.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	expect.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	expect.NoError(t, err)
	i := &issued{
		crt: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
	i.pair, err = tls.X509KeyPair(i.crt, i.key)
	expect.NoError(t, err)
	return i
}

const (
	ago  = -time.Hour
	soon = time.Hour
)
