package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// AddUser adds a user with the permissions that RBAC grants to the name and the groups, and returns the path of a kubeconfig.
//
// The name can be that of a service account, system:serviceaccount:NAMESPACE:NAME: with the groups
// system:serviceaccounts and system:serviceaccounts:NAMESPACE, the user is authorized as the service account.
func (p *ControlPlane) AddUser(name string, groups ...string) (string, error) {
	user, err := p.user(name, groups...)
	if err != nil {
		return "", err
	}
	// The random part separates users whose names differ only in the replaced characters.
	file, err := os.CreateTemp(p.Dir, strings.NewReplacer(":", "_", "/", "_").Replace(name)+"-*.kubeconfig")
	if err != nil {
		return "", fmt.Errorf("writing the kubeconfig of %s: %w", name, err)
	}
	return file.Name(), errors.Join(file.Close(), writeKubeconfig(file.Name(), user))
}

// addAdministrator adds a user who has all permissions.
func (p *ControlPlane) addAdministrator() error {
	administrator, err := p.user("admin", "system:masters")
	if err != nil {
		return err
	}
	p.Config = administrator.Config()
	p.Kubeconfig = filepath.Join(p.Dir, "kubeconfig")
	return writeKubeconfig(p.Kubeconfig, administrator)
}

// user returns a user of the API server with a client certificate.
func (p *ControlPlane) user(name string, groups ...string) (*envtest.AuthenticatedUser, error) {
	if p.Elsewhere() {
		return nil, fmt.Errorf("adding user %s: %w", name, errNotOurs)
	}
	return p.userOf(p.servers, name, groups...)
}

// userOf returns a user of one of the API servers. The lock protects the CA's serial number, which has no lock of its own.
func (p *ControlPlane) userOf(servers *envtest.ControlPlane, name string, groups ...string) (*envtest.AuthenticatedUser, error) {
	p.users.Lock()
	defer p.users.Unlock()
	// The default limit of 5 requests per second would slow down the tests.
	config := &rest.Config{QPS: 1000, Burst: 2000}
	user, err := servers.AddUser(envtest.User{Name: name, Groups: groups}, config)
	if err != nil {
		return nil, fmt.Errorf("adding user %s: %w", name, err)
	}
	return user, nil
}

func writeKubeconfig(path string, user *envtest.AuthenticatedUser) error {
	content, err := user.KubeConfig()
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}
