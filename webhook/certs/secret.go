package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	caKey = "ca.key"
	caCrt = "ca.crt"
	// caPrevious has the authority before the current one, so that all replicas know it for theirs.
	caPrevious = "ca-previous.crt"
	caName     = "handoff-webhook-ca"
	project    = "ownership-handoff"

	day = 24 * time.Hour
	// backdate is for clocks that are slow.
	backdate = time.Hour
	// An authority is renewed while it still outlives every certificate that it signs.
	caDuration     = 10 * 365 * day
	caRenewal      = 365 * day
	servingFor     = 90 * day
	servingRenewal = 30 * day
)

// pair is what is served, the authority behind it, and the one before that, in PEM.
type pair struct{ ca, crt, key, previous []byte }

// secret returns the pair in the Secret, which it makes, or renews as far as necessary, before.
func (k *Keeper) secret(ctx context.Context) (pair, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Secret}, Type: corev1.SecretTypeTLS}
	err := k.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return pair{}, fmt.Errorf("reading the certificates: %w", err)
	}
	changed, err := k.renew(secret)
	if err != nil {
		return pair{}, err
	}
	switch {
	case missing:
		err = k.client.Create(ctx, secret)
	case changed:
		err = k.client.Update(ctx, secret) // of the version that was read, or it is refused
	}
	if err != nil {
		return pair{}, fmt.Errorf("storing new certificates: %w", err)
	}
	if changed {
		k.Log.Info("stored", "secret", k.Namespace+"/"+k.Secret)
	}
	return pair{
		ca: secret.Data[caCrt], crt: secret.Data[corev1.TLSCertKey], key: secret.Data[corev1.TLSPrivateKeyKey],
		previous: secret.Data[caPrevious],
	}, nil
}

// renew makes anew what is missing in a Secret, broken, for other names, not valid yet, or about to expire. A serving
// certificate alone is signed by the authority that is there.
func (k *Keeper) renew(secret *corev1.Secret) (changed bool, err error) {
	maker := &rotator.CertRotator{
		CAName: caName, CAOrganization: project, DNSName: k.names()[0], ExtraDNSNames: k.names()[1:],
		ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	now := time.Now()
	data, previous := secret.Data, secret.Data[caPrevious]
	authority, err := authorityOf(data, now)
	if err != nil {
		k.Log.Info("making a new authority", "reason", err.Error())
		if authority, err = maker.CreateCACert(now.Add(-backdate), now.Add(caDuration)); err != nil {
			return false, fmt.Errorf("making an authority: %w", err)
		}
		data, previous = nil, secret.Data[caCrt]
		if len(previous) == 0 {
			previous = k.last // the Secret was deleted
		}
	}
	for _, at := range []time.Time{now, now.Add(servingRenewal)} {
		_, err = rotator.ValidCert(authority.CertPEM, data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey], maker.DNSName,
			maker.ExtKeyUsages, at)
		if err != nil {
			break
		}
	}
	if err == nil {
		return false, nil
	}
	k.Log.Info("making a new serving certificate", "reason", err.Error())
	// It is valid since its authority is. With a beginning of its own, replicas whose clocks are far apart would replace each
	// other's.
	crt, key, err := maker.CreateCertPEM(authority, authority.Cert.NotBefore, now.Add(servingFor))
	if err != nil {
		return false, fmt.Errorf("making a serving certificate: %w", err)
	}
	secret.Data = map[string][]byte{
		caCrt: authority.CertPEM, caKey: authority.KeyPEM, corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key,
	}
	if len(previous) > 0 {
		secret.Data[caPrevious] = previous
	}
	return true, nil
}

// names are what the API server may call the Service by.
func (k *Keeper) names() []string {
	return []string{k.Service + "." + k.Namespace + ".svc", k.Service + "." + k.Namespace, k.Service}
}

// authorityOf reads the authority in a Secret; the error says why there has to be a new one.
func authorityOf(data map[string][]byte, now time.Time) (*rotator.KeyPairArtifacts, error) {
	for _, at := range []time.Time{now, now.Add(caRenewal)} {
		if _, err := rotator.ValidCert(data[caCrt], data[caCrt], data[caKey], caName, nil, at); err != nil {
			return nil, fmt.Errorf("%s of the Secret: %w", caCrt, err)
		}
	}
	read, err := tls.X509KeyPair(data[caCrt], data[caKey])
	if err != nil {
		return nil, fmt.Errorf("%s of the Secret: %w", caCrt, err)
	}
	key, err := rsaKey(read.PrivateKey)
	if err != nil {
		return nil, err
	}
	return &rotator.KeyPairArtifacts{Cert: read.Leaf, Key: key, CertPEM: data[caCrt], KeyPEM: data[caKey]}, nil
}
