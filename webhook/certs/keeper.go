// Package selfsigned gives the webhook a certificate where the cluster has nothing that would: it makes an authority and a
// serving certificate, keeps both in a Secret that all replicas share, renews them in time, tells the API server of the
// authority by the caBundle of the webhook's configuration, and writes the files that package serving reads.
//
// The certificates themselves, and whether they hold, are the library's (cert-controller's rotator). Its loop is not used:
// it reads every Secret of the namespace, ends the process when its own is missing, and replaces the caBundle at the same
// time as the certificate, so that requests fail until both have arrived. Here, as everywhere, no rotation costs a request:
//
//   - A new serving certificate is signed by the same authority; whoever trusted the old one trusts the new one.
//   - A new authority is first added to the caBundle, beside the old one. No replica serves what it has signed before the
//     API servers have had time to see that. The old one leaves the caBundle a day later, when all have long changed.
//
// Any number of replicas may do this at once: each reads, decides the same, and writes only what nobody has changed since
// (by resourceVersion); who comes second reads again.
package certs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// lookEvery is how often is looked without a change, since certificates also grow old without one.
	lookEvery = time.Minute
	// tryAgain is how soon is looked again after an error.
	tryAgain = 2 * time.Second
	// readAgain is how soon is looked again after another replica has written.
	readAgain = 100 * time.Millisecond
	// requestTimeout is how long the API server may take.
	requestTimeout = 30 * time.Second
)

// Options say what to keep.
type Options struct {
	// Namespace and Secret are where the certificates are kept. The Secret is made when it is missing.
	Namespace, Secret string
	// Service is what the API server calls, for the names in the certificate.
	Service string
	// Configuration is the MutatingWebhookConfiguration whose webhooks get the caBundle.
	Configuration string
	// Folder gets tls.crt, tls.key and ca.crt.
	Folder string
	Log    logr.Logger
}

// Keeper keeps the certificates.
type Keeper struct {
	Options
	client  client.Client
	config  *rest.Config
	scheme  *runtime.Scheme
	trusted map[string]time.Time // since when each authority has been seen in the caBundle
	last    []byte               // the authority that the Secret had at the last look
	others  others
	repairs repairs

	mutex sync.Mutex
	done  bool
	err   error
}

// New returns a keeper that does nothing before Run.
func New(config *rest.Config, o Options) (*Keeper, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, admissionregistrationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper()})
	if err != nil {
		return nil, fmt.Errorf("self-signed certificates: %w", err)
	}
	return &Keeper{Options: o, client: c, config: config, scheme: scheme, trusted: map[string]time.Time{}}, nil
}

// Run keeps the certificates until the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	changed, err := k.watch(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		next := k.look(ctx)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(next):
		}
	}
	return nil
}

// look does what there is to do and says when to look again.
func (k *Keeper) look(ctx context.Context) (next time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	next, err := k.sync(ctx)
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err == nil {
		k.done, k.err = true, nil
		return next
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		k.Log.Info("another replica was faster; reading what it has written")
		return readAgain
	}
	if ctx.Err() == nil && (k.err == nil || k.err.Error() != err.Error()) {
		k.Log.Error(err, "the certificates cannot be kept; trying again", "in", tryAgain.String())
	}
	k.err = err
	return tryAgain
}

// sync brings the Secret, the caBundle and the files up to date, in this order. The configuration is read before the Secret: an
// authority that another replica has added to it is then in the Secret that is read.
func (k *Keeper) sync(ctx context.Context) (next time.Duration, err error) {
	configuration, unread := k.configuration(ctx)
	pair, err := k.secret(ctx)
	if err == nil {
		err = unread
	}
	if err != nil {
		return 0, err
	}
	k.last = pair.ca
	trusted, again, err := k.trust(ctx, configuration, pair)
	if err != nil {
		return 0, err
	}
	next, err = k.write(pair, trusted)
	return min(next, again), err
}

// Ready is a readiness check: an error until there are certificates. Later errors are logged, and no reason to send
// reviews elsewhere: what is there goes on being served, and its own check says when it is no longer good.
func (k *Keeper) Ready() error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	switch {
	case k.done:
		return nil
	case k.err != nil:
		return k.err
	default:
		return fmt.Errorf("secret %s/%s has not been read yet", k.Namespace, k.Secret)
	}
}
