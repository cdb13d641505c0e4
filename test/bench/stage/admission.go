package stage

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ownership-handoff/handoff/test/controlplane"
)

// The labels that select the namespaces of the constant patch and of the guard, and the one that excludes all others from
// handoff.
const (
	constantLabel = "bench/constant-patch"
	guardLabel    = "bench/guard"
	systemLabel   = "ownership-handoff.io/system"
)

// labels returns the labels of a namespace.
func (s *Space) labels() map[string]string {
	labels := map[string]string{}
	if s.Constant {
		labels[constantLabel] = "yes"
	}
	if s.Guarded {
		labels[guardLabel] = "yes"
	}
	if !s.Handoff {
		labels[systemLabel] = "true"
	}
	return labels
}

// registerPeer registers the constant patch, with the timeout and the failure policy of handoff's configuration. If it fails, a
// write has another result than expected.
func (s *Stage) registerPeer(ctx context.Context) error {
	err := s.api.Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "constant-patch"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:         "constant-patch.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &s.peer.URL, CABundle: s.peer.CA},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
				},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{constantLabel: "yes"}},
			FailurePolicy:           new(admissionregistrationv1.Ignore),
			TimeoutSeconds:          new(int32(2)),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	})
	if err != nil {
		return fmt.Errorf("registering the constant patch: %w", err)
	}
	return nil
}

// installGuard installs the guard for the namespaces that are to have it. Installed as it is, it guards all.
func (s *Stage) installGuard(ctx context.Context) error {
	root, err := controlplane.Root()
	if err != nil {
		return err
	}
	const only = `{"spec":{"matchResources":{"namespaceSelector":{"matchLabels":{"` + guardLabel + `":"yes"}}}}}`
	for _, args := range [][]string{
		{"apply", "-k", filepath.Join(root, "manifests", "guard")},
		{"patch", "mutatingadmissionpolicybinding", "handoff-guard-autoscaled", "handoff-guard-dropped-fields", "-p", only},
	} {
		if out, err := exec.CommandContext(ctx, s.plane.Kubectl, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("installing the guard: kubectl %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}
