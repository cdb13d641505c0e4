package controlplane

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed kubectl.sh
var kubectlScript string

// Root returns the root directory of this repository: the nearest directory with a go.mod, from the working directory upwards.
// A test runs in its package's directory, a command of this repository usually at its root.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding this repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding this repository: no go.mod in %s or its parents", start)
		}
	}
}

// findBinaries returns the directory of the binaries, or an error if a binary is missing.
func findBinaries(given string) (string, error) {
	dir := cmp.Or(given, os.Getenv("CONTROLPLANE_BIN"))
	if dir == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "bin", "controlplane")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the binaries of the control plane: %w", err)
	}
	missing := slices.DeleteFunc([]string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("%s does not contain %s; run make controlplane", dir, strings.Join(missing, ", "))
	}
	return dir, nil
}

// installKubectl installs a kubectl for this control plane in its directory.
func (p *ControlPlane) installKubectl(binaries string) error {
	if err := os.MkdirAll(filepath.Dir(p.Kubectl), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(p.Kubectl, []byte(kubectlScript), 0o700); err != nil {
		return err
	}
	// The link makes kubectl's command line contain the control plane's directory, so that the watchdog finds it.
	return os.Symlink(filepath.Join(binaries, "kubectl"), filepath.Join(p.Dir, "kubectl"))
}
