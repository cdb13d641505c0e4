package certs

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// watch returns a channel that receives when the Secret or the MutatingWebhookConfiguration may have changed. Each object is
// watched by name, so that permission on other Secrets is not required.
func (r *Rotator) watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default: // a sync is already pending
		}
	}
	for _, watched := range []struct {
		client                    rest.Interface
		resource, namespace, name string
		object                    runtime.Object
	}{
		{r.core.RESTClient(), "secrets", r.options.Namespace, r.options.Secret, &corev1.Secret{}},
		{
			r.configurations.RESTClient(), "mutatingwebhookconfigurations", "", r.options.Configuration,
			&admissionregistrationv1.MutatingWebhookConfiguration{},
		},
	} {
		named := fields.OneTermEqualSelector("metadata.name", watched.name)
		objects := cache.NewListWatchFromClient(watched.client, watched.resource, watched.namespace, named)
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: objects, ObjectType: watched.object, Transform: nameOnly,
			Handler: cache.ResourceEventHandlerFuncs{
				AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }, DeleteFunc: func(any) { wake() },
			},
		})
		go informer.RunWithContext(ctx)
	}
	return changed
}

// nameOnly keeps private keys out of the cache, which is only used for notifications.
func nameOnly(in any) (any, error) {
	if o, ok := in.(metav1.Object); ok {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: o.GetName(), Namespace: o.GetNamespace(), ResourceVersion: o.GetResourceVersion(),
		}}, nil
	}
	return in, nil
}
