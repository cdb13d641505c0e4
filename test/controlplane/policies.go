package controlplane

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

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

// policiesVersionOf asks an API server for PoliciesVersion.
func policiesVersionOf(config *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("reading the API server's resources: %w", err)
	}
	_, all, err := client.ServerGroupsAndResources()
	if err != nil {
		return "", fmt.Errorf("reading the API server's resources: %w", err)
	}
	for _, name := range []string{"v1", "v1beta1"} {
		for _, list := range all {
			if list.GroupVersion != "admissionregistration.k8s.io/"+name {
				continue
			}
			for i := range list.APIResources {
				if list.APIResources[i].Name == "mutatingadmissionpolicies" {
					return name, nil
				}
			}
		}
	}
	return "", nil
}
