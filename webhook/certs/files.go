package certs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// write writes the pair to the files, and returns the time until the next sync. If the files of another CA are being served, it
// keeps them until the API servers trust the new CA.
func (r *Rotator) write(p pair, trusted time.Time) (next time.Duration, err error) {
	ca, err := os.ReadFile(filepath.Join(r.options.Dir, caCrt))
	if err != nil && !os.IsNotExist(err) {
		return 0, fmt.Errorf("reading the certificate files: %w", err)
	}
	if wait := time.Until(trusted.Add(propagation)); err == nil && !bytes.Equal(ca, p.ca) && wait > 0 {
		return wait, nil
	}
	wrote := false
	// ca.crt is written last: it records the CA of the certificate that is served.
	for _, file := range []struct {
		name    string
		content []byte
	}{{corev1.TLSPrivateKeyKey, p.key}, {corev1.TLSCertKey, p.crt}, {caCrt, p.ca}} {
		name := filepath.Join(r.options.Dir, file.name)
		if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, file.content) { //nolint:gosec // the directory comes from a flag
			continue
		}
		// Package serving reads again what is only half written.
		if err := os.WriteFile(name, file.content, 0o600); err != nil {
			return 0, fmt.Errorf("writing the certificate files: %w", err)
		}
		wrote = true
	}
	if wrote {
		r.options.Log.Info("wrote the certificate files", "directory", r.options.Dir)
	}
	return resyncEvery, nil
}
