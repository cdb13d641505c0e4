package handofftest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
)

// WriteCertificate writes a serving certificate for this machine to a directory, with the file names of a mounted TLS Secret,
// and returns the CA certificate for the API server.
func WriteCertificate(dir string) (ca []byte, err error) {
	return WriteCertificateFor(dir, 365*24*time.Hour)
}

// WriteCertificateFor writes a certificate that is valid for a time from now on.
func WriteCertificateFor(dir string, validity time.Duration) (ca []byte, err error) {
	const early = time.Hour // the certificate is valid since an hour ago
	chain, key, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{
		Host: "localhost", AlternateIPs: []net.IP{net.IPv4(127, 0, 0, 1)}, MaxAge: early + validity,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the webhook's certificate: %w", err)
	}
	for name, content := range map[string][]byte{"tls.crt": chain, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("creating the webhook's certificate: %w", err)
		}
	}
	certificates, err := cert.ParseCertsPEM(chain)
	if err != nil {
		return nil, fmt.Errorf("creating the webhook's certificate: %w", err)
	}
	// The first certificate of the chain is the server's, the last one is the CA's.
	ca, err = cert.EncodeCertificates(certificates[len(certificates)-1])
	if err != nil {
		return nil, fmt.Errorf("creating the webhook's certificate: %w", err)
	}
	return ca, nil
}
