package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// policiesMinor is the first minor version of Kubernetes that serves MutatingAdmissionPolicy in admissionregistration.k8s.io/v1.
// v1alpha1 exists since 1.32 and v1beta1 since 1.34, both off by default (kube_features.go of k8s.io/apiserver).
const policiesMinor = 36

// Version returns the version of the API server, as 1.36.3.
func (p *ControlPlane) Version() string { return p.version.String() }

// Since reports whether the API server has the version 1.minor or a later one.
func (p *ControlPlane) Since(minor uint) bool {
	return p.version.AtLeast(version.MajorMinor(1, minor))
}

// KubectlVersion returns the version of kubectl, as 1.36.3.
func (p *ControlPlane) KubectlVersion() string { return p.kubectlVersion.String() }

// KubectlSince reports whether kubectl has the version 1.minor or a later one.
func (p *ControlPlane) KubectlSince(minor uint) bool {
	return p.kubectlVersion.AtLeast(version.MajorMinor(1, minor))
}

// HasMutatingPolicies reports whether the API server serves MutatingAdmissionPolicy in the version that the guard uses.
func (p *ControlPlane) HasMutatingPolicies() bool { return p.Since(policiesMinor) }

// NeedMutatingPolicies skips a test unless the API server serves MutatingAdmissionPolicy in the version that the guard uses.
func (p *ControlPlane) NeedMutatingPolicies(t *testing.T) {
	t.Helper()
	if !p.HasMutatingPolicies() {
		t.Skipf("MutatingAdmissionPolicy is in admissionregistration.k8s.io/v1 since Kubernetes 1.%d", policiesMinor)
	}
}

// readVersion asks the API server for its version.
func (p *ControlPlane) readVersion() (err error) {
	p.version, err = versionOf(p.Config)
	return err
}

// readKubectlVersion asks kubectl for its version.
func (p *ControlPlane) readKubectlVersion(ctx context.Context) error {
	text, err := exec.CommandContext(ctx, p.Kubectl, "version", "--client", "-o", "json").Output()
	if err != nil {
		return fmt.Errorf("reading kubectl's version: %w", err)
	}
	var read struct{ ClientVersion struct{ GitVersion string } }
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("reading kubectl's version: %w", err)
	}
	if p.kubectlVersion, err = version.ParseSemantic(read.ClientVersion.GitVersion); err != nil {
		return fmt.Errorf("reading kubectl's version: %w", err)
	}
	return nil
}

func versionOf(config *rest.Config) (*version.Version, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's version: %w", err)
	}
	info, err := client.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("reading the API server's version: %w", err)
	}
	parsed, err := version.ParseSemantic(info.GitVersion)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's version: %w", err)
	}
	return parsed, nil
}
