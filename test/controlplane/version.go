package controlplane

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Version returns the version of the API server, as 1.36.3.
func (p *ControlPlane) Version() string { return p.version.String() }

// Since reports whether the API server has the version 1.minor or a later one.
func (p *ControlPlane) Since(minor uint) bool {
	return p.version.AtLeast(version.MajorMinor(1, minor))
}

// The minor versions of Kubernetes that are the first with MutatingAdmissionPolicy in a version of admissionregistration.k8s.io.
// v1beta1 is off by default (kube_features.go of k8s.io/apiserver).
const (
	policiesMinor     = 36 // v1
	policiesBetaMinor = 34 // v1beta1
)

// PoliciesVersion returns the newest stable or beta version of admissionregistration.k8s.io in which the API server serves
// MutatingAdmissionPolicy, as v1, or an empty text.
func (p *ControlPlane) PoliciesVersion() string { return p.policiesVersion }

// HasMutatingPolicies reports whether the API server serves MutatingAdmissionPolicy in a version that the guard can use.
func (p *ControlPlane) HasMutatingPolicies() bool { return p.policiesVersion != "" }

// NeedMutatingPolicies skips a test unless the API server serves MutatingAdmissionPolicy in a version that the guard can use.
func (p *ControlPlane) NeedMutatingPolicies(t *testing.T) {
	t.Helper()
	if !p.HasMutatingPolicies() {
		t.Skipf("Kubernetes has MutatingAdmissionPolicy as beta since 1.%d", policiesBetaMinor)
	}
}

// enableMutatingPolicies makes an API server serve MutatingAdmissionPolicy if that is beta in its version.
func enableMutatingPolicies(ctx context.Context, server *envtest.APIServer) error {
	text, err := exec.CommandContext(ctx, server.Path, "--version").Output()
	if err != nil {
		return fmt.Errorf("reading the version of %s: %w", server.Path, err)
	}
	v, err := version.ParseSemantic(regexp.MustCompile(`v\d\S*`).FindString(string(text)))
	if err != nil {
		return fmt.Errorf("reading the version of %s: %w", server.Path, err)
	}
	if v.AtLeast(version.MajorMinor(1, policiesBetaMinor)) && v.LessThan(version.MajorMinor(1, policiesMinor)) {
		server.Configure().Append("feature-gates", "MutatingAdmissionPolicy=true")
		server.Configure().Append("runtime-config", "admissionregistration.k8s.io/v1beta1=true")
	}
	return nil
}

// readVersion asks the API server for its version, and for that of MutatingAdmissionPolicy.
func (p *ControlPlane) readVersion() (err error) {
	client, err := discovery.NewDiscoveryClientForConfig(p.Config)
	if err != nil {
		return err
	}
	info, err := client.ServerVersion()
	if err == nil {
		p.version, err = version.ParseSemantic(info.GitVersion)
	}
	if err != nil {
		return fmt.Errorf("reading the API server's version: %w", err)
	}
	policies := schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicies"}
	for _, name := range []string{"v1beta1", "v1"} {
		served, err := discovery.IsResourceEnabled(client, policies.WithVersion(name))
		if err != nil {
			return fmt.Errorf("reading the API server's resources: %w", err)
		}
		if served {
			p.policiesVersion = name
		}
	}
	return nil
}
