package doctor

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

// soon is the remaining validity from which a certificate should have been renewed, as in the alert HandoffCertificateExpires.
const soon = 14 * 24 * time.Hour

// defaultSecret is the Secret of the certificate in the manifests.
const defaultSecret = "handoff-webhook-tls" //nolint:gosec // a name

// checkCertificate checks the caBundle of each entry, and the serving certificate against it.
func (d *diagnosis) checkCertificate(ctx context.Context, c *Check) {
	usable := d.checkBundles(c)
	if d.in.ServiceReference() == nil {
		return
	}
	name := d.secretName()
	object := named("secret", name, d.namespace())
	secrets := corev1.SchemeGroupVersion.WithResource("secrets")
	secret, err := installation.Get[corev1.Secret](ctx, d.objects, secrets, d.namespace(), name)
	switch {
	case isAbsent(err):
		c.found(object, "not found: the pods have no serving certificate", d.issue()...)
		return
	case err != nil:
		c.unread("get "+object, err)
		return
	}
	chain, err := cert.ParseCertsPEM(secret.Data[corev1.TLSCertKey])
	if err != nil {
		c.found(object, "has no certificate: "+corev1.TLSCertKey+": "+err.Error(), d.issue()...)
		return
	}
	c.Detail = fmt.Sprintf("%s, expires in %s", object, duration.HumanDuration(chain[0].NotAfter.Sub(d.options.Now)))
	d.checkValidity(c, object, chain[0])
	for _, hook := range usable {
		d.verify(c, object, hook, chain)
	}
}

// checkBundles returns the first entry with each usable caBundle.
func (d *diagnosis) checkBundles(c *Check) (usable []*admissionregistrationv1.MutatingWebhook) {
	for _, hook := range d.in.Entries() {
		bundle := hook.ClientConfig.CABundle
		if len(bundle) == 0 {
			c.found(d.object(), "the caBundle of "+hook.Name+" is empty: the API server does not trust the certificate",
				d.trust(hook)...)
			continue
		}
		if _, err := cert.ParseCertsPEM(bundle); err != nil {
			c.found(d.object(), "the caBundle of "+hook.Name+" is invalid: "+err.Error(), d.trust(hook)...)
			continue
		}
		same := func(other *admissionregistrationv1.MutatingWebhook) bool {
			return bytes.Equal(other.ClientConfig.CABundle, bundle)
		}
		if slices.ContainsFunc(usable, same) {
			continue
		}
		if usable = append(usable, hook); len(usable) == 2 {
			c.found(d.object(), "the caBundles of "+usable[0].Name+" and "+hook.Name+" differ", d.trust(hook)...)
		}
	}
	return usable
}

func (d *diagnosis) checkValidity(c *Check, object string, leaf *x509.Certificate) {
	switch left := leaf.NotAfter.Sub(d.options.Now); {
	case left <= 0:
		c.found(object, "the certificate expired "+duration.HumanDuration(-left)+" ago", d.issue()...)
	case d.options.Now.Before(leaf.NotBefore):
		c.found(object, "the certificate is not valid yet: check the clocks", d.issue()...)
	case left < soon:
		c.found(object, "the certificate expires in "+duration.HumanDuration(left)+" and was not renewed", d.issue()...)
	}
}

// verify verifies the certificate as the API server does (the CA and the DNS name), except for the time.
func (d *diagnosis) verify(c *Check, object string, hook *admissionregistrationv1.MutatingWebhook, chain []*x509.Certificate) {
	if hook.ClientConfig.Service == nil {
		return
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(hook.ClientConfig.CABundle)
	for _, issuer := range chain[1:] {
		intermediates.AddCert(issuer)
	}
	leaf, host := chain[0], hook.ClientConfig.Service.Name+"."+hook.ClientConfig.Service.Namespace+".svc"
	if leaf.VerifyHostname(host) != nil {
		c.found(object, "the certificate is for "+strings.Join(leaf.DNSNames, ", ")+", not for "+host, d.names(host)...)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: valid(leaf)})
	var unknown x509.UnknownAuthorityError
	switch {
	case err == nil:
	case errors.As(err, &unknown):
		c.found(d.object(), "the caBundle of "+hook.Name+" does not contain the CA of the certificate in "+object,
			d.trust(hook)...)
	default:
		c.found(object, "the certificate cannot be verified with the caBundle of "+hook.Name+": "+err.Error(), d.issue()...)
	}
}

// valid returns a time at which the certificate is valid: another check reports that it is not valid now.
func valid(leaf *x509.Certificate) time.Time {
	return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 2)
}

// secretName returns the Secret of the serving certificate.
func (d *diagnosis) secretName() string {
	if d.selfSigned() || d.deployment == nil {
		return d.flag("self-signed-secret", defaultSecret)
	}
	for _, volume := range d.deployment.Spec.Template.Spec.Volumes {
		if volume.Name == "tls" && volume.Secret != nil {
			return volume.Secret.SecretName
		}
	}
	return defaultSecret
}

// certManaged reports whether cert-manager sets the caBundle.
func (d *diagnosis) certManaged() bool {
	for key := range d.configuration().Annotations {
		if strings.HasPrefix(key, "cert-manager.io/inject-ca-from") {
			return true
		}
	}
	return false
}

// issue returns how to get a new certificate.
func (d *diagnosis) issue() []string {
	if d.certManaged() {
		return []string{"kubectl -n " + d.namespace() + " describe certificates.cert-manager.io"}
	}
	if d.selfSigned() {
		return []string{
			d.logs(),
			fmt.Sprintf(`kubectl -n %s patch secret %s --type=merge -p '{"data":{"tls.crt":"","tls.key":""}}'`,
				d.namespace(), d.secretName()),
		}
	}
	return []string{"issue a new certificate into " + named("secret", d.secretName(), d.namespace())}
}

// names returns how to get a certificate for the Service's DNS name.
func (d *diagnosis) names(host string) []string {
	if d.selfSigned() {
		return append([]string{"set --service and --namespace of the webhook to those of the Service"}, d.issue()...)
	}
	return append([]string{"add " + host + " to the dnsNames of the certificate"}, d.issue()...)
}

// trust returns how to put the CA into an entry's caBundle.
func (d *diagnosis) trust(hook *admissionregistrationv1.MutatingWebhook) []string {
	name := d.configuration().Name
	if d.certManaged() {
		return []string{
			"check cert-manager's cainjector and the annotation cert-manager.io/inject-ca-from of " + d.object(),
		}
	}
	at := slices.IndexFunc(d.configuration().Webhooks, func(h admissionregistrationv1.MutatingWebhook) bool {
		return h.Name == hook.Name
	})
	patch := fmt.Sprintf(`kubectl patch mutatingwebhookconfiguration %s --type=json -p '[{"op":"add","path":`+
		`"/webhooks/%d/clientConfig/caBundle","value":"'"$(kubectl -n %s get secret %s -o jsonpath='{.data.ca\.crt}')"'"}]'`,
		name, at, d.namespace(), d.secretName())
	if d.selfSigned() {
		return []string{"the pods set it within seconds; if they do not: " + d.logs(), patch}
	}
	return []string{patch}
}
