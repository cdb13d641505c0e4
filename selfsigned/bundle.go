package selfsigned

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

// trust sees to it that the caBundle of every webhook in the configuration has the authority, and returns since when it
// has been seen there. A configuration that does not exist calls nobody: it is trusted at once, and found when it comes.
func (k *Keeper) trust(ctx context.Context, ca []byte) (since time.Time, err error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err = k.client.Get(ctx, client.ObjectKey{Name: k.Configuration}, configuration)
	if apierrors.IsNotFound(err) {
		k.Log.V(1).Info("there is no configuration to tell of the authority", "name", k.Configuration)
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the caBundle: %w", err)
	}
	before := configuration.DeepCopy()
	for i := range configuration.Webhooks {
		to := &configuration.Webhooks[i].ClientConfig
		if to.CABundle, err = bundle(ca, to.CABundle, time.Now()); err != nil {
			return time.Time{}, err
		}
	}
	if !sameBundles(before.Webhooks, configuration.Webhooks) {
		// Only the caBundles are sent, and refused if somebody has changed the configuration since.
		patch := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
		if err := k.client.Patch(ctx, configuration, patch, client.FieldOwner("handoff-webhook")); err != nil {
			return time.Time{}, fmt.Errorf("storing the caBundle: %w", err)
		}
		k.Log.Info("told the API server of the authority", "configuration", k.Configuration)
	}
	return k.seen(ca), nil
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

// bundle returns the authority and, of those that were in the caBundle, the ones that replicas may still serve with: all
// in the authority's first day, then only younger ones, which another replica has just added. The order is always the
// same, so that no two replicas write in turns.
func bundle(ca, before []byte, now time.Time) ([]byte, error) {
	authorities, err := cert.ParseCertsPEM(ca)
	if err != nil {
		return nil, fmt.Errorf("%s of the Secret: %w", caCrt, err)
	}
	current := authorities[0]
	settled := now.After(current.NotBefore.Add(backdate + overlap))
	others, _ := cert.ParseCertsPEM(before) // what is no certificate is nobody's
	for _, other := range others {
		old := settled && !other.NotBefore.After(current.NotBefore)
		known := slices.ContainsFunc(authorities, other.Equal)
		if !old && !known && now.Before(other.NotAfter) {
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
