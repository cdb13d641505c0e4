package handofftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// The API server reads a webhook configuration some time after it is stored, and does not signal when. Register therefore adds
// a probe webhook that has no server, and so rejects every ConfigMap with the probe label. A configuration takes effect as a
// whole: when a dry run of such a ConfigMap is rejected, the API server calls the other webhooks as well.
const (
	probeName  = "registered.probe.handofftest"
	probeLabel = "handofftest/registered-probe"
	probeURL   = "https://127.0.0.1:1/"
)

// Register registers the webhook as in the manifests, and waits until the API server calls it, also for the namespaces that
// already have a mode.
func (w *Webhook) Register(ctx context.Context) error {
	if err := w.setRegistered(ctx, true); err != nil {
		return fmt.Errorf("registering the webhook: %w", err)
	}
	return nil
}

// Unregister deletes the webhook's configuration, and waits until the API server does not call the webhook any more.
func (w *Webhook) Unregister(ctx context.Context) error {
	if err := w.setRegistered(ctx, false); err != nil {
		return fmt.Errorf("unregistering the webhook: %w", err)
	}
	return nil
}

func (w *Webhook) setRegistered(ctx context.Context, want bool) error {
	configuration, err := w.configuration(ctx)
	if err != nil {
		return err
	}
	api, err := client.New(w.controlPlane.Config, client.Options{})
	if err != nil {
		return err
	}
	if want {
		configuration.Webhooks = append(configuration.Webhooks, probeWebhook())
		err = api.Create(ctx, configuration)
	} else {
		err = api.Delete(ctx, configuration)
	}
	if err != nil {
		return err
	}
	if err := waitRegistered(ctx, api, want); err != nil || !want || !selectsByLabel(configuration) {
		return err
	}
	return waitLabeled(ctx, api)
}

// selectsByLabel reports whether the API server only calls the webhook for namespaces that have the mode label.
func selectsByLabel(configuration *admissionregistrationv1.MutatingWebhookConfiguration) bool {
	for i := range configuration.Webhooks {
		selector := configuration.Webhooks[i].NamespaceSelector
		if selector != nil && slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
			return r.Key == optin.Label && r.Operator == metav1.LabelSelectorOpExists
		}) {
			return true
		}
	}
	return false
}

// waitLabeled waits until the webhook has labeled the namespaces that were annotated before it was registered.
func waitLabeled(ctx context.Context, api client.Client) error {
	done := func(ctx context.Context) (bool, error) {
		var namespaces corev1.NamespaceList
		if err := api.List(ctx, &namespaces); err != nil {
			return false, err
		}
		return !slices.ContainsFunc(namespaces.Items, func(n corev1.Namespace) bool {
			annotation, annotated := n.Annotations[optin.Annotation]
			label, labeled := optin.NamespaceLabel(annotation, annotated)
			return labeled && n.Labels[optin.Label] != label && n.Name != metav1.NamespaceSystem
		}), nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, readyTimeout, true, done); err != nil {
		return fmt.Errorf("waiting until all namespaces with a mode have its label: %w", err)
	}
	return nil
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

// waitRegistered waits until the probe is rejected, or until it is accepted.
func waitRegistered(ctx context.Context, api client.Client, want bool) error {
	done := func(ctx context.Context) (bool, error) {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			GenerateName: "probe-", Namespace: metav1.NamespaceDefault, Labels: map[string]string{probeLabel: ""},
		}}
		err := api.Create(ctx, probe, client.DryRunAll)
		if err != nil && !strings.Contains(err.Error(), probeName) {
			return false, err
		}
		return (err != nil) == want, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, readyTimeout, true, done); err != nil {
		return fmt.Errorf("waiting until the API server has noticed: %w", err)
	}
	return nil
}

const kind = "MutatingWebhookConfiguration"

// configuration returns the configuration from the manifests, with the URL of this process instead of a Service.
func (w *Webhook) configuration(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	rendered := process.Run(ctx, nil, "", w.controlPlane.Kubectl, "kustomize", w.manifests)
	if rendered.Err != nil {
		return nil, rendered.Err
	}
	configuration, err := find(rendered.Stdout)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.manifests, err)
	}
	for i := range configuration.Webhooks {
		hook := &configuration.Webhooks[i]
		if err := redirect(&hook.ClientConfig, w.URL, w.CA); err != nil {
			return nil, fmt.Errorf("%s: webhook %s: %w", w.manifests, hook.Name, err)
		}
	}
	return configuration, nil
}

// find decodes the only webhook configuration in the documents.
func find(manifests string) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	documents := slices.DeleteFunc(strings.Split("\n"+manifests, "\n---"), func(document string) bool {
		return !strings.Contains(document, "\nkind: "+kind+"\n")
	})
	if len(documents) != 1 {
		return nil, fmt.Errorf("want one %s, got %d", kind, len(documents))
	}
	found := &admissionregistrationv1.MutatingWebhookConfiguration{}
	// Decode strictly: a field that the API server would ignore is a mistake in the manifests.
	return found, yaml.UnmarshalStrict([]byte(documents[0]), found)
}

// redirect replaces the Service with a URL with the same path.
func redirect(to *admissionregistrationv1.WebhookClientConfig, url string, ca []byte) error {
	if to.Service == nil {
		return errors.New("clientConfig has no service")
	}
	if to.Service.Path != nil {
		url += *to.Service.Path
	}
	*to = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}
	return nil
}
