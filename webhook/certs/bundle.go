package certs

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// overlap is how long an old CA stays trusted next to a new one: long enough for a replica that was disconnected.
	overlap = day
	// propagation is how long API servers may take to see a new caBundle, which they watch.
	propagation = 5 * time.Second
)

// configuration reads the MutatingWebhookConfiguration. It returns nil if there is none.
func (r *Rotator) configuration(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err := r.client.Get(ctx, client.ObjectKey{Name: r.options.Configuration}, configuration)
	if apierrors.IsNotFound(err) {
		r.options.Log.V(1).Info("MutatingWebhookConfiguration not found, not setting the caBundle", "name", r.options.Configuration)
		return nil, nil //nolint:nilnil // a missing configuration is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", r.options.Configuration, err)
	}
	return configuration, nil
}

// trust adds the CA to the caBundle of every webhook in the configuration. It returns when the CA was first seen there, and the
// time until the next sync. Without a configuration, no API server calls the webhook, and since is zero; the watch notices
// when the configuration is created.
func (r *Rotator) trust(
	ctx context.Context, configuration *admissionregistrationv1.MutatingWebhookConfiguration, p pair,
) (since time.Time, again time.Duration, err error) {
	if configuration == nil {
		return time.Time{}, resyncEvery, nil
	}
	now := time.Now()
	before := configuration.DeepCopy()
	r.others.record(p, now)
	for i := range configuration.Webhooks {
		to := &configuration.Webhooks[i].ClientConfig
		known := func(other *x509.Certificate) bool { return r.others.known(other, now) }
		if to.CABundle, err = bundle(p.ca, to.CABundle, known, now); err != nil {
			return time.Time{}, 0, err
		}
	}
	if !sameBundles(before.Webhooks, configuration.Webhooks) {
		if wait := r.backoff.wait(now); wait > 0 {
			return now, wait, nil
		}
		r.backoff.record(now)
		// The patch contains only the caBundles, and fails if the configuration has changed since it was read.
		patch := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
		if err := r.client.Patch(ctx, configuration, patch, client.FieldOwner("handoff-webhook")); err != nil {
			return time.Time{}, 0, fmt.Errorf("patching the caBundle of MutatingWebhookConfiguration %s: %w", r.options.Configuration, err)
		}
		r.options.Log.Info("updated the caBundle", "configuration", r.options.Configuration)
	}
	return r.seen(p.ca), r.others.nextSync(now), nil
}

func sameBundles(a, b []admissionregistrationv1.MutatingWebhook) bool {
	return slices.EqualFunc(a, b, func(a, b admissionregistrationv1.MutatingWebhook) bool {
		return bytes.Equal(a.ClientConfig.CABundle, b.ClientConfig.CABundle)
	})
}

// seen returns when this process first saw the CA in the caBundle. The first call records the current time.
func (r *Rotator) seen(ca []byte) time.Time {
	since, ok := r.trusted[string(ca)]
	if !ok {
		since = time.Now()
		r.trusted[string(ca)] = since
	}
	return since
}

// bundle returns the caBundle with the CA and those CAs of the previous caBundle that replicas may still use: known ones, during
// the first day of the current CA. It never adds a CA back, and the order is deterministic, so that replicas do not overwrite
// each other's writes.
func bundle(ca, before []byte, known func(*x509.Certificate) bool, now time.Time) ([]byte, error) {
	cas, err := cert.ParseCertsPEM(ca)
	if err != nil {
		return nil, fmt.Errorf("%s in the Secret: %w", caCrt, err)
	}
	current := cas[0]
	settled := now.After(current.NotBefore.Add(backdate + overlap))
	others, _ := cert.ParseCertsPEM(before) // content that cannot be parsed is dropped
	for _, other := range others {
		old := settled && !other.NotBefore.After(current.NotBefore)
		present := slices.ContainsFunc(cas, other.Equal)
		if !old && !present && now.Before(other.NotAfter) && known(other) {
			cas = append(cas, other)
		}
	}
	slices.SortStableFunc(cas, func(a, b *x509.Certificate) int {
		if order := b.NotBefore.Compare(a.NotBefore); order != 0 {
			return order
		}
		return bytes.Compare(a.Raw, b.Raw)
	})
	var text bytes.Buffer
	for _, ca := range cas {
		if err := pem.Encode(&text, &pem.Block{Type: cert.CertificateBlockType, Bytes: ca.Raw}); err != nil {
			return nil, fmt.Errorf("encoding the caBundle: %w", err)
		}
	}
	return text.Bytes(), nil
}

var errNotRSA = errors.New(caKey + " in the Secret is not an RSA key")

func rsaKey(key any) (*rsa.PrivateKey, error) {
	if key, ok := key.(*rsa.PrivateKey); ok {
		return key, nil
	}
	return nil, errNotRSA
}
