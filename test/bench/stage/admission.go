package stage

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// register registers the peers, after handoff.
func (s *Stage) register(ctx context.Context) error {
	var handoff admissionregistrationv1.MutatingWebhookConfiguration
	if err := s.api.Get(ctx, client.ObjectKey{Name: "handoff"}, &handoff); err != nil {
		return fmt.Errorf("reading handoff's webhook configuration: %w", err)
	}
	for _, space := range s.spaces {
		if space.peer == nil {
			continue
		}
		configuration := space.webhookConfiguration()
		switch space.Conditions {
		case Same:
			configuration.Webhooks[0].MatchConditions = handoff.Webhooks[0].MatchConditions
		case Trivial:
			configuration.Webhooks[0].MatchConditions = []admissionregistrationv1.MatchCondition{
				{Name: "has-a-name", Expression: "request.name != ''"},
			}
		}
		if err := s.api.Create(ctx, configuration); err != nil {
			return fmt.Errorf("registering webhook %s: %w", space.Peer, err)
		}
	}
	return nil
}

// webhookConfiguration registers the peer of a namespace, with the timeout and the failure policy of handoff's configuration.
func (s *Space) webhookConfiguration() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "peer-" + s.Name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    s.Name + ".peer.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &s.peer.URL, CABundle: s.peer.CA},
			Rules:                   updatesOfDeployments(),
			NamespaceSelector:       s.selector(),
			FailurePolicy:           new(admissionregistrationv1.Ignore),
			TimeoutSeconds:          new(int32(2)),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

func updatesOfDeployments() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
		},
	}}
}

func (s *Space) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.Name}}
}

// createPolicy creates a policy for a namespace that does what the webhook peers.Patch does.
func (s *Stage) createPolicy(ctx context.Context, space *Space) error {
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "peer-" + space.Name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      new(admissionregistrationv1.Ignore),
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints:   &admissionregistrationv1.MatchResources{NamespaceSelector: space.selector()},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{
					Expression: fmt.Sprintf(`[JSONPatch{op: "replace", path: "/spec/replicas", value: %d}]`, scaledReplicas),
				},
			}},
		},
	}
	for _, rule := range updatesOfDeployments() {
		policy.Spec.MatchConstraints.ResourceRules = append(policy.Spec.MatchConstraints.ResourceRules,
			admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: rule})
	}
	if err := s.api.Create(ctx, policy); err != nil {
		return fmt.Errorf("creating the policy: %w", err)
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	}
	if err := s.api.Create(ctx, binding); err != nil {
		return fmt.Errorf("binding the policy: %w", err)
	}
	return nil
}
