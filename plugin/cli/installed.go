package cli

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// webhookName is the suffix of the webhook's name in the manifests. The name of the configuration can differ.
const webhookName = ".ownership-handoff.io"

// noteUninstalled notes on standard error that modes have no effect if the webhook is not installed. Users who cannot list
// MutatingWebhookConfigurations get no note.
func (s *shared) noteUninstalled(ctx context.Context) error {
	restConfig, err := s.cluster.ToRESTConfig()
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(restConfig)
	if err != nil {
		return err
	}
	configurations := admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	list, err := objects.Resource(configurations).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil //nolint:nilerr // the note is optional
	}
	for i := range list.Items {
		hooks, _, _ := unstructured.NestedSlice(list.Items[i].Object, "webhooks")
		for _, hook := range hooks {
			of, _ := hook.(map[string]any)
			if name, _ := of["name"].(string); strings.HasSuffix(name, webhookName) {
				return nil
			}
		}
	}
	_, err = fmt.Fprintln(s.env.IOStreams.ErrOut,
		"note: the handoff webhook is not installed in this cluster, so modes have no effect")
	return err
}
