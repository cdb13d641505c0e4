// Package certs manages self-signed certificates for the webhook, for clusters without cert-manager.
//
// It creates a CA and a serving certificate, stores both in a Secret that all replicas share, renews them before they expire,
// adds the CA to the caBundle of the MutatingWebhookConfiguration, and writes the files that package serving reads.
//
// The library cert-controller creates and validates the certificates (package rotator). Its controller is not used: it reads
// every Secret in the namespace, ends the process if its own Secret is missing, and replaces the caBundle at the same time as
// the certificate, so that requests fail until API servers and replicas have both. This package rotates without failed requests:
//
//   - A new serving certificate is signed by the same CA, so that clients which trust the old one trust the new one.
//   - A new CA is first added to the caBundle next to the old one. Replicas serve a certificate of the new CA only after the API
//     servers have had time to see the new caBundle. The old CA is removed a day later, when all replicas have long switched.
//
// All replicas may do this concurrently: each reads the same objects, makes the same decisions, and writes with optimistic
// locking (resourceVersion). A replica whose write conflicts reads again.
package certs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// resyncEvery is the interval between syncs without a change: certificates also expire without one.
	resyncEvery = time.Minute
	// retryAfter is the pause after an error.
	retryAfter = 2 * time.Second
	// conflictRetryAfter is the pause after another replica has written.
	conflictRetryAfter = 100 * time.Millisecond
	// requestTimeout is the timeout of all requests in a sync.
	requestTimeout = 30 * time.Second
)

var errNoConfiguration = errors.New("does not exist")

// Options configure a Rotator.
type Options struct {
	// Namespace and Secret name the Secret that stores the certificates. It is created if it is missing.
	Namespace, Secret string
	// Service is the Service that the API server calls, for the DNS names in the certificate.
	Service string
	// Configuration is the MutatingWebhookConfiguration in which the caBundle is set, by FieldManager.
	Configuration, FieldManager string
	// Dir is the directory to which tls.crt, tls.key and ca.crt are written.
	Dir string
	Log logr.Logger
}

// Rotator creates and renews the certificates, and keeps the Secret, the caBundle and the files up to date.
type Rotator struct {
	options   Options
	client    client.Client
	metadata  metadata.Interface
	trusted   map[string]time.Time // by CA, when it was first seen in the caBundle
	last      []byte               // the CA in the Secret at the last sync
	cas       seenCAs
	writes    workqueue.TypedRateLimiter[string] // of the caBundle
	nextWrite time.Time

	mutex sync.Mutex
	done  bool
	err   error
}

// New returns a Rotator. Run starts it.
func New(config *rest.Config, o Options) (*Rotator, error) {
	mapper := meta.NewDefaultRESTMapper(nil) // discovery would require the API server at startup
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"), meta.RESTScopeRoot)
	objects, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("self-signed certificates: %w", err)
	}
	watched, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("self-signed certificates: %w", err)
	}
	return &Rotator{
		options: o, client: objects, metadata: watched, trusted: map[string]time.Time{},
		cas:    seenCAs{inSecret: map[string]bool{}, at: map[string]time.Time{}},
		writes: workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstPause, maxPause),
	}, nil
}

// Run keeps the certificates up to date until the context is done.
func (r *Rotator) Run(ctx context.Context) error {
	changed := r.watch(ctx)
	for ctx.Err() == nil {
		next := r.trySync(ctx)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(next):
		}
	}
	return nil
}

// trySync calls sync, records its error, and returns the time until the next sync.
func (r *Rotator) trySync(ctx context.Context) (next time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	next, err := r.sync(ctx)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch {
	case err == nil || errors.Is(err, errNoConfiguration):
		r.done = true
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		r.options.Log.Info("another replica wrote first, reading again")
		return conflictRetryAfter
	default:
		next = retryAfter
	}
	if err != nil && ctx.Err() == nil && (r.err == nil || r.err.Error() != err.Error()) {
		r.options.Log.Error(err, "updating the certificates failed, retrying", "after", next.String())
	}
	r.err = err
	return next
}

// sync updates the Secret, the caBundle and the files, in this order. It reads the MutatingWebhookConfiguration before the
// Secret, so that a CA which another replica has added to the caBundle is already in the Secret that it reads.
func (r *Rotator) sync(ctx context.Context) (next time.Duration, err error) {
	configuration, configurationErr := r.configuration(ctx)
	pair, err := r.secret(ctx)
	if err := cmp.Or(err, configurationErr); err != nil {
		return 0, err
	}
	r.last = pair.ca
	trusted, again, err := r.trust(ctx, configuration, pair)
	if err != nil {
		return 0, err
	}
	next, err = r.write(pair, trusted)
	if err == nil && configuration == nil {
		err = fmt.Errorf("MutatingWebhookConfiguration %s %w, so no API server trusts the certificate; "+
			"create it, or set --webhook-configuration to its name", r.options.Configuration, errNoConfiguration)
	}
	return min(next, again), err
}

// Ready is a readiness check. It returns an error until the certificates exist. Later errors are only warnings: the existing
// certificate is still served, and the check of package serving fails when it is no longer valid.
func (r *Rotator) Ready() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch {
	case r.done:
		return nil
	case r.err != nil:
		return r.err
	default:
		return fmt.Errorf("waiting to read Secret %s/%s", r.options.Namespace, r.options.Secret)
	}
}

// Warning returns the error of the last sync, if there was one.
func (r *Rotator) Warning() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.err
}
