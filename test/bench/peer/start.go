package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// Peer is the webhook in a process of its own.
type Peer struct {
	// URL is the address for reviews, CA the PEM-encoded CA certificate.
	URL string
	CA  []byte
	// PID is the process ID.
	PID int

	process *process.Process
}

const startTimeout = 30 * time.Second

// Start starts this program as the webhook. If it is not stopped, it is terminated with the control plane.
func Start(ctx context.Context, controlPlane *controlplane.ControlPlane) (*Peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	dir, err := os.MkdirTemp(controlPlane.Dir, "peer-*")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for the constant patch: %w", err)
	}
	ports, err := process.FreePorts(1)
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	p := &Peer{URL: "https://" + address + reviewPath}
	if p.CA, err = handofftest.WriteCertificate(dir); err != nil {
		return nil, err
	}
	p.process, err = process.Start(filepath.Join(dir, "log"), self, "-peer="+address, "-certificates="+dir)
	if err != nil {
		return nil, err
	}
	p.PID = p.process.PID()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.process.WaitHealthy(ctx, "https://"+address+healthPath); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Stop terminates the process.
func (p *Peer) Stop() error { return p.process.Stop(5 * time.Second) }
