package certs

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// watch returns a channel that receives when the Secret or the MutatingWebhookConfiguration may have changed. Each object is
// watched by name, so that permission on other Secrets is not required, and only its metadata, which contains no private key.
func (r *Rotator) watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default: // a sync is already pending
		}
	}
	watch := func(resource schema.GroupVersionResource, namespace, name string) {
		named := func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
		}
		informer := metadatainformer.NewFilteredMetadataInformer(r.metadata, resource, namespace, 0, nil, named).Informer()
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{ // fails only for an informer that was stopped
			AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }, DeleteFunc: func(any) { wake() },
		})
		go informer.RunWithContext(ctx)
	}
	watch(corev1.SchemeGroupVersion.WithResource("secrets"), r.options.Namespace, r.options.Secret)
	watch(admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"), "", r.options.Configuration)
	return changed
}
