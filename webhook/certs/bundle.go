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
	// overlap is how long an old authority stays trusted beside a new one: long enough for a replica that was cut off.
	overlap = day
	// spread is how long API servers may take to see a new caBundle, which they watch.
	spread = 5 * time.Second
)

// configuration reads the configuration of the webhook, nil where there is none.
func (k *Keeper) configuration(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err := k.client.Get(ctx, client.ObjectKey{Name: k.Configuration}, configuration)
	if apierrors.IsNotFound(err) {
		k.Log.V(1).Info("there is no configuration to tell of the authority", "name", k.Configuration)
		return nil, nil //nolint:nilnil // none is no error
	}
	if err != nil {
		return nil, fmt.Errorf("reading the caBundle: %w", err)
	}
	return configuration, nil
}

// trust sees to it that the caBundle of every webhook in the configuration has the authority, and returns since when it has
// been seen there, and when to look again. A configuration that does not exist calls nobody: it is trusted at once, and
// found when it comes.
func (k *Keeper) trust(
	ctx context.Context, configuration *admissionregistrationv1.MutatingWebhookConfiguration, p pair,
) (since time.Time, again time.Duration, err error) {
	if configuration == nil {
		return time.Time{}, lookEvery, nil
	}
	now := time.Now()
	before := configuration.DeepCopy()
	k.others.note(p, now)
	for i := range configuration.Webhooks {
		to := &configuration.Webhooks[i].ClientConfig
		known := func(other *x509.Certificate) bool { return k.others.known(other, now) }
		if to.CABundle, err = bundle(p.ca, to.CABundle, known, now); err != nil {
			return time.Time{}, 0, err
		}
	}
	if !sameBundles(before.Webhooks, configuration.Webhooks) {
		if wait := k.repairs.wait(now); wait > 0 {
			return now, wait, nil
		}
		k.repairs.note(now)
		// Only the caBundles are sent, and refused if somebody has changed the configuration since.
		patch := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
		if err := k.client.Patch(ctx, configuration, patch, client.FieldOwner("handoff-webhook")); err != nil {
			return time.Time{}, 0, fmt.Errorf("storing the caBundle: %w", err)
		}
		k.Log.Info("told the API server of the authority", "configuration", k.Configuration)
	}
	return k.seen(p.ca), k.others.again(now), nil
}

func sameBundles(a, b []admissionregistrationv1.MutatingWebhook) bool {
	return slices.EqualFunc(a, b, func(a, b admissionregistrationv1.MutatingWebhook) bool {
		return bytes.Equal(a.ClientConfig.CABundle, b.ClientConfig.CABundle)
	})
}

// seen remembers since when an authority has been in the caBundle, as far as this process knows.
func (k *Keeper) seen(ca []byte) time.Time {
	since, ok := k.trusted[string(ca)]
	if !ok {
		since = time.Now()
		k.trusted[string(ca)] = since
	}
	return since
}

// bundle returns the authority and, of those that were in the caBundle, the ones that replicas may still serve with: those
// that are known, for the authority's first day. None is added back, so that no two replicas write in turns, and the order
// is always the same.
func bundle(ca, before []byte, known func(*x509.Certificate) bool, now time.Time) ([]byte, error) {
	authorities, err := cert.ParseCertsPEM(ca)
	if err != nil {
		return nil, fmt.Errorf("%s of the Secret: %w", caCrt, err)
	}
	current := authorities[0]
	settled := now.After(current.NotBefore.Add(backdate + overlap))
	others, _ := cert.ParseCertsPEM(before) // what is no certificate is nobody's
	for _, other := range others {
		old := settled && !other.NotBefore.After(current.NotBefore)
		there := slices.ContainsFunc(authorities, other.Equal)
		if !old && !there && now.Before(other.NotAfter) && known(other) {
			authorities = append(authorities, other)
		}
	}
	slices.SortStableFunc(authorities, func(a, b *x509.Certificate) int {
		if order := b.NotBefore.Compare(a.NotBefore); order != 0 {
			return order
		}
		return bytes.Compare(a.Raw, b.Raw)
	})
	var text bytes.Buffer
	for _, authority := range authorities {
		if err := pem.Encode(&text, &pem.Block{Type: cert.CertificateBlockType, Bytes: authority.Raw}); err != nil {
			return nil, fmt.Errorf("encoding the caBundle: %w", err)
		}
	}
	return text.Bytes(), nil
}

var errNotRSA = errors.New(caKey + " of the Secret is not the RSA key that was made")

func rsaKey(key any) (*rsa.PrivateKey, error) {
	if key, ok := key.(*rsa.PrivateKey); ok {
		return key, nil
	}
	return nil, errNotRSA
}
