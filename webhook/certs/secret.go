package certs

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
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
	// caPrevious is the key of the CA before the current one, so that all replicas know it.
	caPrevious = "ca-previous.crt"
	caName     = "handoff-webhook-ca"
	project    = "ownership-handoff"

	day = 24 * time.Hour
	// backdate allows for clocks that are wrong by hours: of a pod that issues, and of the API servers that verify.
	backdate = day
	// A CA is renewed early enough to outlive every certificate that it signs.
	caDuration      = 10 * 365 * day
	caRenewal       = 365 * day
	servingDuration = 90 * day
	servingRenewal  = 30 * day
)

// pair is the serving certificate and its key, their CA, and the previous CA, in PEM.
type pair struct{ ca, crt, key, previous []byte }

// secret returns the pair in the Secret. If necessary, it creates the Secret or renews the certificates first.
func (r *Rotator) secret(ctx context.Context) (pair, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.options.Namespace, Name: r.options.Secret}, Type: corev1.SecretTypeTLS}
	err := r.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return pair{}, fmt.Errorf("reading Secret %s/%s: %w", r.options.Namespace, r.options.Secret, err)
	}
	changed, err := r.renew(secret)
	if err != nil {
		return pair{}, err
	}
	switch {
	case missing:
		err = r.client.Create(ctx, secret)
	case changed:
		err = r.client.Update(ctx, secret) // fails if the Secret has changed since it was read
	}
	if err != nil {
		return pair{}, fmt.Errorf("writing Secret %s/%s: %w", r.options.Namespace, r.options.Secret, err)
	}
	if changed {
		r.options.Log.Info("stored the certificates", "secret", r.options.Namespace+"/"+r.options.Secret)
	}
	return pair{
		ca: secret.Data[caCrt], crt: secret.Data[corev1.TLSCertKey], key: secret.Data[corev1.TLSPrivateKeyKey],
		previous: secret.Data[caPrevious],
	}, nil
}

// renew renews certificates in a Secret that are missing, broken, for other names, not valid yet, or about to expire. If only the
// serving certificate is renewed, the existing CA signs it.
func (r *Rotator) renew(secret *corev1.Secret) (changed bool, err error) {
	host := r.options.Service + "." + r.options.Namespace
	maker := &rotator.CertRotator{
		CAName: caName, CAOrganization: project, DNSName: host + ".svc", ExtraDNSNames: []string{host, r.options.Service},
		ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	now := time.Now()
	data, previous := secret.Data, secret.Data[caPrevious]
	ca, err := caOf(data, now)
	if err != nil {
		r.options.Log.Info("creating a new CA", "reason", err.Error())
		if ca, err = maker.CreateCACert(now.Add(-backdate), now.Add(caDuration)); err != nil {
			return false, fmt.Errorf("creating a CA: %w", err)
		}
		data, previous = nil, secret.Data[caCrt]
		if len(previous) == 0 {
			previous = r.last // the Secret was deleted
		}
	}
	for _, at := range []time.Time{now, now.Add(servingRenewal)} {
		_, err = rotator.ValidCert(ca.CertPEM, data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey], maker.DNSName,
			maker.ExtKeyUsages, at)
		if err != nil {
			break
		}
	}
	if err == nil {
		return false, nil
	}
	r.options.Log.Info("creating a new serving certificate", "reason", err.Error())
	// It starts with its CA. If it started now, replicas whose clocks differ would find each other's certificates not valid yet,
	// and replace them.
	crt, key, err := maker.CreateCertPEM(ca, ca.Cert.NotBefore, now.Add(servingDuration))
	if err != nil {
		return false, fmt.Errorf("creating a serving certificate: %w", err)
	}
	secret.Data = map[string][]byte{
		caCrt: ca.CertPEM, caKey: ca.KeyPEM, corev1.TLSCertKey: crt, corev1.TLSPrivateKeyKey: key,
	}
	if len(previous) > 0 {
		secret.Data[caPrevious] = previous
	}
	return true, nil
}

// caOf returns the CA in a Secret. The error is the reason why a new CA is needed.
func caOf(data map[string][]byte, now time.Time) (*rotator.KeyPairArtifacts, error) {
	for _, at := range []time.Time{now, now.Add(caRenewal)} {
		if _, err := rotator.ValidCert(data[caCrt], data[caCrt], data[caKey], caName, nil, at); err != nil {
			return nil, fmt.Errorf("%s in the Secret: %w", caCrt, err)
		}
	}
	parsed, err := tls.X509KeyPair(data[caCrt], data[caKey])
	if err != nil {
		return nil, fmt.Errorf("%s in the Secret: %w", caCrt, err)
	}
	key, ok := parsed.PrivateKey.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New(caKey + " in the Secret is not an RSA key")
	}
	return &rotator.KeyPairArtifacts{Cert: parsed.Leaf, Key: key, CertPEM: data[caCrt], KeyPEM: data[caKey]}, nil
}
