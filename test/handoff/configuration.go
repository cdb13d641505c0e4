package handofftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const kind = "MutatingWebhookConfiguration"

// configuration returns the configuration from the manifests, with the URL of this process instead of a Service.
func (w *Webhook) configuration(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	manifests, err := exec.CommandContext(ctx, w.controlPlane.Kubectl, "kustomize", w.manifests).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("kubectl kustomize %s: %w", w.manifests, err)
	}
	configuration, err := find(manifests)
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
func find(manifests []byte) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	var found *admissionregistrationv1.MutatingWebhookConfiguration
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096); ; {
		var document runtime.RawExtension
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(document.Raw, &meta); err != nil {
			return nil, err
		}
		if meta.Kind != kind {
			continue
		}
		if found != nil {
			return nil, errors.New("more than one " + kind)
		}
		found = &admissionregistrationv1.MutatingWebhookConfiguration{}
		// Decode strictly: a field that the API server would ignore is a mistake in the manifests.
		if err := yaml.UnmarshalStrict(document.Raw, found); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, errors.New("no " + kind)
	}
	return found, nil
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
