package doctor

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

// soon is the remaining validity from which a certificate should have been renewed, as in the alert HandoffCertificateExpires.
const soon = 14 * 24 * time.Hour

// checkCertificate checks the serving certificate, and the caBundle of each entry.
func (d *diagnosis) checkCertificate(ctx context.Context) {
	var chain []*x509.Certificate // the certificate and its issuers
	secret, absent := get[corev1.Secret](ctx, d, d.namespace(), d.secretName())
	if absent {
		d.check.found(d.secret(), "not found: the pods have no serving certificate", d.issue()...)
	} else if secret != nil {
		var err error
		if chain, err = cert.ParseCertsPEM(secret.Data[corev1.TLSCertKey]); err != nil {
			d.check.found(d.secret(), "has no certificate: "+corev1.TLSCertKey+": "+err.Error(), d.issue()...)
		} else {
			d.checkLeaf(chain[0])
		}
	}
	for i, entry := range d.configuration().Webhooks {
		isOurs := installation.Find(d.in.Entries(), entry.Name) != nil
		if problem := problemOf(entry.ClientConfig.CABundle, chain, d.secret()); isOurs && problem != "" {
			d.check.found(d.object(), "the caBundle of "+entry.Name+problem, d.trust(i)...)
		}
	}
}

// checkLeaf checks the time and the DNS name of the serving certificate.
func (d *diagnosis) checkLeaf(leaf *x509.Certificate) {
	left := leaf.NotAfter.Sub(d.options.Now)
	d.check.Detail = fmt.Sprintf("%s, expires in %s", d.secret(), duration.HumanDuration(left))
	switch {
	case left <= 0:
		d.check.found(d.secret(), "the certificate expired "+duration.HumanDuration(-left)+" ago", d.issue()...)
	case d.options.Now.Before(leaf.NotBefore):
		d.check.found(d.secret(), "the certificate is not valid yet: check the clocks", d.issue()...)
	case left < soon:
		d.check.found(d.secret(), "the certificate expires in "+duration.HumanDuration(left)+" and was not renewed", d.issue()...)
	}
	ref := d.in.ServiceReference()
	host := ref.Name + "." + ref.Namespace + ".svc"
	if leaf.VerifyHostname(host) == nil {
		return
	}
	remedy := "add " + host + " to the dnsNames of the certificate"
	if d.selfSigned() {
		remedy = "set --service and --namespace of the webhook to those of the Service"
	}
	d.check.found(d.secret(), "the certificate is for "+strings.Join(leaf.DNSNames, ", ")+", not for "+host,
		append([]string{remedy}, d.issue()...)...)
}

// problemOf verifies a certificate, unless it is nil, with a CA bundle as the API server does, at a time at which the certificate is
// valid: that it is not now is another problem.
func problemOf(caBundle []byte, chain []*x509.Certificate, secret string) string {
	if len(caBundle) == 0 {
		return " is empty: the API server does not trust the certificate"
	}
	roots, err := cert.NewPoolFromBytes(caBundle)
	if err != nil {
		return " is invalid: " + err.Error()
	}
	if chain == nil {
		return ""
	}
	intermediates := x509.NewCertPool()
	for _, issuer := range chain[1:] {
		intermediates.AddCert(issuer)
	}
	validity := chain[0].NotAfter.Sub(chain[0].NotBefore)
	_, err = chain[0].Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, CurrentTime: chain[0].NotBefore.Add(validity / 2),
	})
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return " does not contain the CA of the certificate in " + secret
	default:
		return " does not verify the certificate in " + secret + ": " + err.Error()
	}
}

// secretName returns the Secret of the serving certificate.
func (d *diagnosis) secretName() string {
	if d.deployment != nil && !d.selfSigned() {
		for _, volume := range d.deployment.Spec.Template.Spec.Volumes {
			if volume.Name == "tls" && volume.Secret != nil {
				return volume.Secret.SecretName
			}
		}
	}
	return d.flag("self-signed-secret", "handoff-webhook-tls")
}

func (d *diagnosis) secret() string { return named("secret", d.secretName(), d.namespace()) }

// certManaged reports whether cert-manager sets the caBundle.
func (d *diagnosis) certManaged() bool {
	annotations := d.configuration().Annotations
	return annotations["cert-manager.io/inject-ca-from"]+annotations["cert-manager.io/inject-ca-from-secret"] != ""
}

func (d *diagnosis) issue() []string {
	switch {
	case d.certManaged():
		return []string{d.kubectl("describe certificates.cert-manager.io")}
	case d.selfSigned():
		renew := d.kubectl("patch secret " + d.secretName() + ` --type=merge -p '{"data":{"tls.crt":"","tls.key":""}}'`)
		return []string{d.logs(), renew}
	default:
		return []string{"issue a new certificate into " + d.secret()}
	}
}

// trust returns how to put the CA into the caBundle of the entry with an index.
func (d *diagnosis) trust(index int) []string {
	if d.certManaged() {
		return []string{"check cert-manager's cainjector and the annotation cert-manager.io/inject-ca-from of " + d.object()}
	}
	patch := fmt.Sprintf(`kubectl patch mutatingwebhookconfiguration %s --type=json -p '[{"op":"add","path":`+
		`"/webhooks/%d/clientConfig/caBundle","value":"'"$(kubectl -n %s get secret %s -o jsonpath='{.data.ca\.crt}')"'"}]'`,
		d.configuration().Name, index, d.namespace(), d.secretName())
	if d.selfSigned() {
		return []string{"the pods set it within seconds; if they do not: " + d.logs(), patch}
	}
	return []string{patch}
}
