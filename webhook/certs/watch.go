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

// watch says when the Secret or the configuration may have changed. Nothing is read from the cache: it only wakes. Each is
// watched by its name alone, so that no other Secret has to be readable.
func (k *Keeper) watch(ctx context.Context) (<-chan struct{}, error) {
	c, err := cache.New(k.config, cache.Options{
		Scheme: k.scheme, Mapper: mapper(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {
				Namespaces: map[string]cache.Config{k.Namespace: {}}, Field: fields.OneTermEqualSelector("metadata.name", k.Secret),
				Transform: forget,
			},
			&admissionregistrationv1.MutatingWebhookConfiguration{}: {
				Field: fields.OneTermEqualSelector("metadata.name", k.Configuration), Transform: forget,
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
		default: // it is to be looked at anyway
		}
	}
	for _, object := range []client.Object{&corev1.Secret{}, &admissionregistrationv1.MutatingWebhookConfiguration{}} {
		informer, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching a %T: %w", object, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }, DeleteFunc: func(any) { wake() },
		})
		if err != nil {
			return nil, fmt.Errorf("watching a %T: %w", object, err)
		}
	}
	go func() {
		if err := c.Start(ctx); err != nil {
			k.Log.Error(err, "changes are no longer watched, and seen by looking", "every", lookEvery.String())
		}
	}()
	return changed, nil
}

// forget keeps private keys out of the cache.
func forget(in any) (any, error) {
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
