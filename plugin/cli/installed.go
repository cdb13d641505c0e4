package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/ownership-handoff/handoff/ownership"
)

// webhookName is the suffix of the webhook's name in the manifests. The name of the configuration can differ.
const webhookName = ".ownership-handoff.io"

const uninstalled = "the handoff webhook is not installed in this cluster, so modes have no effect"

// installation is what the MutatingWebhookConfigurations of the cluster show.
type installation struct {
	// missing reports whether no configuration calls handoff.
	missing bool
	// selectsByLabel reports whether the API server selects namespaces by the label that follows their annotation.
	selectsByLabel bool
}

// installation reads the MutatingWebhookConfigurations. For users who cannot list them, it returns the default installation.
func (s *shared) installation(ctx context.Context) (installation, error) {
	restConfig, err := s.cluster.ToRESTConfig()
	if err != nil {
		return installation{}, err
	}
	objects, err := dynamic.NewForConfig(restConfig)
	if err != nil {
		return installation{}, err
	}
	configurations := admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	list, err := objects.Resource(configurations).List(ctx, metav1.ListOptions{})
	if err != nil {
		return installation{selectsByLabel: true}, nil //nolint:nilerr // the notes are optional
	}
	found := installation{missing: true}
	for i := range list.Items {
		var c admissionregistrationv1.MutatingWebhookConfiguration
		if runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &c) != nil {
			continue
		}
		for j := range c.Webhooks {
			if strings.HasSuffix(c.Webhooks[j].Name, webhookName) {
				found.missing = false
				found.selectsByLabel = found.selectsByLabel || selectsByLabel(c.Webhooks[j].NamespaceSelector)
			}
		}
	}
	return found, nil
}

func selectsByLabel(selector *metav1.LabelSelector) bool {
	return selector != nil && slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Key == ownership.ModeLabel
	})
}

// noteUninstalled notes on standard error that modes have no effect if the webhook is not installed. Users who cannot list
// MutatingWebhookConfigurations get no note.
func (s *shared) noteUninstalled(ctx context.Context) error {
	found, err := s.installation(ctx)
	if err != nil || !found.missing {
		return err
	}
	return s.note(uninstalled)
}

// note writes a note to standard error.
func (s *shared) note(text string) error {
	_, err := fmt.Fprintln(s.env.IOStreams.ErrOut, "note: "+text)
	return err
}
