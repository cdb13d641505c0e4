package certs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// overlap is how long an old CA stays trusted next to a new one: long enough for a replica that was disconnected.
	overlap = day
	// unknownFor is how long an unknown CA stays in the caBundle. A replica that has just started does not know the CAs that other
	// replicas may serve with until they have switched to the current one.
	unknownFor = time.Minute
	// propagation is how long API servers may take to see a new caBundle, which they watch.
	propagation = 5 * time.Second
	// firstPause is the pause after the first write of the caBundle. Each further pause is twice as long, up to maxPause.
	firstPause = time.Second
	maxPause   = 5 * time.Minute
)

// configuration reads the MutatingWebhookConfiguration. It returns nil if there is none.
func (r *Rotator) configuration(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err := r.client.Get(ctx, client.ObjectKey{Name: r.options.Configuration}, configuration)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // the certificate is created nevertheless, and then reported to be of no use
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
	for i := range configuration.Webhooks {
		to := &configuration.Webhooks[i].ClientConfig
		if to.CABundle, err = r.cas.bundle(p, to.CABundle, now); err != nil {
			return time.Time{}, 0, err
		}
	}
	if !equality.Semantic.DeepEqual(before, configuration) {
		if wait := r.delayWrite(now); wait > 0 {
			return now, wait, nil
		}
		// The patch contains only the caBundles, and fails if the configuration has changed since it was read.
		patch := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
		if err := r.client.Patch(ctx, configuration, patch, client.FieldOwner(r.options.FieldManager)); err != nil {
			return time.Time{}, 0, fmt.Errorf("patching the caBundle of MutatingWebhookConfiguration %s: %w", r.options.Configuration, err)
		}
		r.options.Log.Info("updated the caBundle", "configuration", r.options.Configuration)
	}
	if since = r.trusted[string(p.ca)]; since.IsZero() {
		since = time.Now()
		r.trusted[string(p.ca)] = since
	}
	return since, resyncEvery, nil
}

// delayWrite returns how long to wait until the caBundle may be written; 0 allows one write. The delay grows exponentially, in case
// another client keeps resetting the caBundle, until it has not been reset for long enough.
func (r *Rotator) delayWrite(now time.Time) time.Duration {
	if wait := r.nextWrite.Sub(now); wait > 0 {
		return wait
	}
	if now.Sub(r.nextWrite) > maxPause {
		r.writes.Forget(r.options.Configuration)
	}
	r.nextWrite = now.Add(r.writes.When(r.options.Configuration))
	return 0
}

// seenCAs are the CAs that this process has seen, by their DER encoding.
type seenCAs struct {
	inSecret map[string]bool
	// at is when a CA was last the current one in the Secret, or else when it was first seen in the caBundle.
	at map[string]time.Time
}

// bundle returns the caBundle with the current CA and those CAs of the previous caBundle that replicas may still use: those that
// were in the Secret, during the first day of the current CA, and any other for a minute. It never adds a CA back, and the order is
// deterministic, so that replicas do not overwrite each other's writes.
func (s *seenCAs) bundle(p pair, before []byte, now time.Time) ([]byte, error) {
	cas, err := cert.ParseCertsPEM(p.ca)
	if err != nil {
		return nil, fmt.Errorf("%s in the Secret: %w", caCrt, err)
	}
	previous, _ := cert.ParseCertsPEM(p.previous) // content that cannot be parsed is dropped, here and below
	for _, ca := range slices.Concat(cas, previous) {
		s.inSecret[string(ca.Raw)] = true
	}
	current := cas[0]
	s.at[string(current.Raw)] = now
	isFirstDay := !now.After(current.NotBefore.Add(backdate + overlap))
	others, _ := cert.ParseCertsPEM(before)
	for _, other := range others {
		name := string(other.Raw)
		if s.at[name].IsZero() {
			s.at[name] = now
		}
		mayBeUsed := isFirstDay && s.inSecret[name] || now.Sub(s.at[name]) < unknownFor
		if mayBeUsed && now.Before(other.NotAfter) && !slices.ContainsFunc(cas, other.Equal) {
			cas = append(cas, other)
		}
	}
	slices.SortStableFunc(cas, func(a, b *x509.Certificate) int {
		return cmp.Or(b.NotBefore.Compare(a.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
	text, err := cert.EncodeCertificates(cas...)
	if err != nil {
		return nil, fmt.Errorf("encoding the caBundle: %w", err)
	}
	return text, nil
}
