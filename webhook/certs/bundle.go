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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// overlap is how long an old CA stays trusted next to a new one: long enough for a replica that was disconnected.
	overlap = day
	// propagation is how long API servers may take to see a new caBundle, which they watch.
	propagation = 5 * time.Second
	// firstPause is the pause after the first write of the caBundle. Each further pause is twice as long, up to maxPause.
	firstPause = time.Second
	maxPause   = 5 * time.Minute
)

// configuration reads the MutatingWebhookConfiguration. It returns nil if there is none.
func (r *Rotator) configuration(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	configuration, err := r.configurations.MutatingWebhookConfigurations().Get(ctx, r.options.Configuration, metav1.GetOptions{})
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
	r.others.record(p, now)
	for i := range configuration.Webhooks {
		to := &configuration.Webhooks[i].ClientConfig
		known := func(other *x509.Certificate) bool { return r.others.known(other, now) }
		if to.CABundle, err = bundle(p.ca, to.CABundle, known, now); err != nil {
			return time.Time{}, 0, err
		}
	}
	if !equality.Semantic.DeepEqual(before, configuration) {
		if wait := r.delayWrite(now); wait > 0 {
			return now, wait, nil
		}
		if err := r.patch(ctx, before, configuration); err != nil {
			return time.Time{}, 0, fmt.Errorf("patching the caBundle of MutatingWebhookConfiguration %s: %w", r.options.Configuration, err)
		}
		r.options.Log.Info("updated the caBundle", "configuration", r.options.Configuration)
	}
	return r.seen(p.ca), r.others.nextSync(now), nil
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

// patch sends a patch that contains only the caBundles, and fails if the configuration has changed since it was read.
func (r *Rotator) patch(ctx context.Context, before, after *admissionregistrationv1.MutatingWebhookConfiguration) error {
	difference := client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{})
	data, err := difference.Data(after)
	if err != nil {
		return err
	}
	_, err = r.configurations.MutatingWebhookConfigurations().Patch(ctx, after.Name, difference.Type(), data,
		metav1.PatchOptions{FieldManager: "handoff-webhook"})
	return err
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
		return cmp.Or(b.NotBefore.Compare(a.NotBefore), bytes.Compare(a.Raw, b.Raw))
	})
	text, err := cert.EncodeCertificates(cas...)
	if err != nil {
		return nil, fmt.Errorf("encoding the caBundle: %w", err)
	}
	return text, nil
}
