package certs

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watch returns a channel that receives when the Secret or the MutatingWebhookConfiguration may have changed. The cache is only
// used for notifications, not for reads. Each object is watched by name, so that permission on other Secrets is not required.
func (r *Rotator) watch(ctx context.Context) (<-chan struct{}, error) {
	c, err := cache.New(r.config, cache.Options{
		Scheme: r.scheme, Mapper: mapper(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {
				Namespaces: map[string]cache.Config{r.options.Namespace: {}},
				Field:      fields.OneTermEqualSelector("metadata.name", r.options.Secret),
				Transform:  dropContent,
			},
			&admissionregistrationv1.MutatingWebhookConfiguration{}: {
				Field: fields.OneTermEqualSelector("metadata.name", r.options.Configuration), Transform: dropContent,
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("self-signed certificates: %w", err)
	}
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default: // a sync is already pending
		}
	}
	for _, object := range []client.Object{&corev1.Secret{}, &admissionregistrationv1.MutatingWebhookConfiguration{}} {
		informer, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", object, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }, DeleteFunc: func(any) { wake() },
		})
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", object, err)
		}
	}
	go func() {
		if err := c.Start(ctx); err != nil {
			r.options.Log.Error(err, "watching for changes failed, polling instead", "interval", resyncEvery.String())
		}
	}()
	return changed, nil
}

// dropContent keeps private keys out of the cache.
func dropContent(in any) (any, error) {
	switch o := in.(type) {
	case *corev1.Secret:
		out := &corev1.Secret{}
		out.Name, out.Namespace, out.ResourceVersion = o.Name, o.Namespace, o.ResourceVersion
		return out, nil
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		out := &admissionregistrationv1.MutatingWebhookConfiguration{}
		out.Name, out.ResourceVersion = o.Name, o.ResourceVersion
		return out, nil
	default:
		return in, nil
	}
}
