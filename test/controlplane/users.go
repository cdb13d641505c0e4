package controlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// AddUser makes a user who may do what RBAC grants to the name and the groups, and returns the path of a kubeconfig.
//
// The name can be that of a service account, system:serviceaccount:NAMESPACE:NAME: with the groups
// system:serviceaccounts and system:serviceaccounts:NAMESPACE, the user is authorized as that.
func (p *Plane) AddUser(name string, groups ...string) (string, error) {
	user, err := p.user(name, groups...)
	if err != nil {
		return "", err
	}
	// The random part keeps two users apart whose names differ only in characters that a file name should not have.
	file, err := os.CreateTemp(p.Dir, strings.NewReplacer(":", "_", "/", "_").Replace(name)+"-*.kubeconfig")
	if err != nil {
		return "", fmt.Errorf("kubeconfig of %s: %w", name, err)
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("kubeconfig of %s: %w", name, err)
	}
	return file.Name(), writeKubeconfig(file.Name(), user)
}

// addAdministrator makes the user whom RBAC never asks.
func (p *Plane) addAdministrator() error {
	administrator, err := p.user("admin", "system:masters")
	if err != nil {
		return err
	}
	p.Config = administrator.Config()
	p.Kubeconfig = filepath.Join(p.Dir, "kubeconfig")
	return writeKubeconfig(p.Kubeconfig, administrator)
}

// user signs a client certificate. The authority behind it counts serial numbers without a lock of its own.
func (p *Plane) user(name string, groups ...string) (*envtest.AuthenticatedUser, error) {
	if p.Elsewhere() {
		return nil, fmt.Errorf("add user %s: %w", name, errNotOurs)
	}
	p.users.Lock()
	defer p.users.Unlock()
	// A test is one client in a hurry: the default of 5 requests per second would be what it measures.
	unhurried := &rest.Config{QPS: 1000, Burst: 2000}
	user, err := p.servers.AddUser(envtest.User{Name: name, Groups: groups}, unhurried)
	if err != nil {
		return nil, fmt.Errorf("add user %s: %w", name, err)
	}
	return user, nil
}

func writeKubeconfig(path string, user *envtest.AuthenticatedUser) error {
	content, err := user.KubeConfig()
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}
