package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

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

// readVersion asks the API server for its version, and for that of MutatingAdmissionPolicy.
func (p *ControlPlane) readVersion() (err error) {
	if p.version, err = versionOf(p.Config); err != nil {
		return err
	}
	p.policiesVersion, err = policiesVersionOf(p.Config)
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
