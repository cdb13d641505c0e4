package peers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// Peer is a webhook in a process of its own.
type Peer struct {
	// URL is the address for reviews, CA the PEM-encoded CA certificate.
	URL string
	CA  []byte
	// PID is the process ID.
	PID int

	process *process.Process
	address string
	client  *http.Client
}

const startTimeout = 30 * time.Second

// Start starts this program as a webhook. If it is not stopped, it is terminated with the control plane.
func Start(ctx context.Context, controlPlane *controlplane.ControlPlane, which string) (*Peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	dir, err := os.MkdirTemp(controlPlane.Dir, "peer-"+which+"-*")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for webhook %s: %w", which, err)
	}
	ports, err := process.FreePorts(1)
	if err != nil {
		return nil, err
	}
	p := &Peer{address: fmt.Sprintf("127.0.0.1:%d", ports[0])}
	p.URL = "https://" + p.address + Path
	if err := p.certify(dir); err != nil {
		return nil, err
	}
	p.process, err = process.Start(filepath.Join(dir, "log"), self, "-peer="+which, "-address="+p.address, "-certificates="+dir)
	if err != nil {
		return nil, err
	}
	p.PID = p.process.PID()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.process.WaitHealthy(ctx, "https://"+p.address+CountPath); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Stop terminates the process.
func (p *Peer) Stop() error { return p.process.Stop(5 * time.Second) }

// certify writes a self-signed certificate to a directory and trusts it.
func (p *Peer) certify(dir string) error {
	chain, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return fmt.Errorf("creating a certificate: %w", err)
	}
	for name, content := range map[string][]byte{"tls.crt": chain, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("creating a certificate: %w", err)
		}
	}
	p.CA = chain
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(chain)
	p.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}}}
	return nil
}

// Count returns the number of reviews so far.
func (p *Peer) Count(ctx context.Context) (count int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.address+CountPath, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("counting reviews: %w", err)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("counting reviews: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, fmt.Errorf("counting reviews: %w", err)
	}
	return strconv.Atoi(string(text))
}
