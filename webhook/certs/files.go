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
	served := err == nil
	if wait := time.Until(trusted.Add(propagation)); served && !bytes.Equal(ca, p.ca) && wait > 0 {
		return wait, nil
	}
	wrote := false
	// ca.crt is written last: it records the CA of the certificate that is served.
	for _, file := range []struct {
		name    string
		content []byte
	}{{corev1.TLSPrivateKeyKey, p.key}, {corev1.TLSCertKey, p.crt}, {caCrt, p.ca}} {
		changed, err := replace(filepath.Join(r.options.Dir, file.name), file.content)
		if err != nil {
			return 0, fmt.Errorf("writing the certificate files: %w", err)
		}
		wrote = wrote || changed
	}
	if wrote {
		r.options.Log.Info("wrote the certificate files", "directory", r.options.Dir)
	}
	return resyncEvery, nil
}

// replace atomically replaces the content of a file if it differs.
func replace(name string, content []byte) (changed bool, err error) {
	//nolint:gosec // the directory comes from a flag
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, content) {
		return false, nil
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // with mode 0600
	if err != nil {
		return false, err
	}
	_, err = file.Write(content)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err == nil, err
}
