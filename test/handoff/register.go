package handofftest

import (
	"context"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The API server picks up a webhook configuration some time after it is stored, and nothing tells when. So a probe goes
// along with the webhooks: one that nobody serves, and that only refuses config maps with a label of its own. A
// configuration takes effect as a whole: when a dry-run of such a config map is refused, the webhooks are called as well.
const (
	probeName  = "registered.probe.handofftest"
	probeLabel = "handofftest/registered-probe"
	probeURL   = "https://127.0.0.1:1/"
)

// Register makes the API server call the webhook as the manifests say, and returns once it does.
func (w *Webhook) Register(ctx context.Context) error {
	configuration, err := w.configuration(ctx)
	if err != nil {
		return fmt.Errorf("register webhook: %w", err)
	}
	configuration.Webhooks = append(configuration.Webhooks, probeWebhook())
	api, err := client.New(w.plane.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("register webhook: %w", err)
	}
	if err := api.Create(ctx, configuration); err != nil {
		return fmt.Errorf("register webhook: %w", err)
	}
	return waitRegistered(ctx, api, true)
}

// Unregister deletes the webhook's configuration and returns once the API server has stopped calling it.
func (w *Webhook) Unregister(ctx context.Context) error {
	configuration, err := w.configuration(ctx)
	if err != nil {
		return fmt.Errorf("unregister webhook: %w", err)
	}
	api, err := client.New(w.plane.Config, client.Options{})
	if err != nil {
		return fmt.Errorf("unregister webhook: %w", err)
	}
	if err := api.Delete(ctx, configuration); err != nil {
		return fmt.Errorf("unregister webhook: %w", err)
	}
	return waitRegistered(ctx, api, false)
}

func probeWebhook() admissionregistrationv1.MutatingWebhook {
	url, fail, none := probeURL, admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	return admissionregistrationv1.MutatingWebhook{
		Name:         probeName,
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
			},
		}},
		ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{probeLabel: ""}},
		FailurePolicy:           &fail,
		SideEffects:             &none,
		AdmissionReviewVersions: []string{"v1"},
	}
}

// waitRegistered waits until the probe is refused, or until it is not refused any more.
func waitRegistered(ctx context.Context, api client.Client, want bool) error {
	refused := func(ctx context.Context) (bool, error) {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			GenerateName: "probe-", Namespace: metav1.NamespaceDefault, Labels: map[string]string{probeLabel: ""},
		}}
		err := api.Create(ctx, probe, client.DryRunAll)
		if err != nil && !strings.Contains(err.Error(), probeName) {
			return false, err
		}
		return (err != nil) == want, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, readyTimeout, true, refused); err != nil {
		return fmt.Errorf("wait for the webhook to be registered: %t: %w", want, err)
	}
	return nil
}
