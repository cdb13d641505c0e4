package certs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// write makes the files what the pair is, and says when to look again. Files of another authority, which are being served,
// stay until the API servers trust the new one.
func (k *Keeper) write(p pair, trusted time.Time) (next time.Duration, err error) {
	ca, err := os.ReadFile(filepath.Join(k.Folder, caCrt))
	if err != nil && !os.IsNotExist(err) {
		return 0, fmt.Errorf("reading the certificate files: %w", err)
	}
	served := err == nil
	if wait := time.Until(trusted.Add(spread)); served && !bytes.Equal(ca, p.ca) && wait > 0 {
		return wait, nil
	}
	wrote := false
	// The authority comes last: its file says whose certificate is served.
	for _, file := range []struct {
		name    string
		content []byte
	}{{corev1.TLSPrivateKeyKey, p.key}, {corev1.TLSCertKey, p.crt}, {caCrt, p.ca}} {
		changed, err := replace(filepath.Join(k.Folder, file.name), file.content)
		if err != nil {
			return 0, fmt.Errorf("writing the certificate files: %w", err)
		}
		wrote = wrote || changed
	}
	if wrote {
		k.Log.Info("wrote the certificate files", "folder", k.Folder)
	}
	return lookEvery, nil
}

// replace makes a file what it should be in one step, if it is not.
func replace(name string, content []byte) (changed bool, err error) {
	//nolint:gosec // the folder is the flag of whoever starts the program
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, content) {
		return false, nil
	}
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // only its owner may read it
	if err != nil {
		return false, err
	}
	_, err = file.Write(content)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err == nil, err
}
