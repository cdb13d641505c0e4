package handofftest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
)

// writeCertificate puts a serving certificate for this machine into the folder, by the names under which Kubernetes
// mounts a Secret of type tls, and returns the authority that the API server has to trust.
func writeCertificate(dir string) (ca []byte, err error) {
	chain, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("certificate of the webhook: %w", err)
	}
	for name, content := range map[string][]byte{"tls.crt": chain, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("certificate of the webhook: %w", err)
		}
	}
	certificates, err := cert.ParseCertsPEM(chain)
	if err != nil {
		return nil, fmt.Errorf("certificate of the webhook: %w", err)
	}
	// The chain begins with the server's own certificate and ends with the authority's.
	ca, err = cert.EncodeCertificates(certificates[len(certificates)-1])
	if err != nil {
		return nil, fmt.Errorf("certificate of the webhook: %w", err)
	}
	return ca, nil
}
