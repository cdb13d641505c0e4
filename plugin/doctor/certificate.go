package doctor

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/internal/protocol"
	"github.com/ownership-handoff/handoff/plugin/installation"
)

// soon is the remaining validity from which a certificate should have been renewed, as in the alert HandoffCertificateExpires.
const soon = 14 * 24 * time.Hour

// checkCertificate verifies the serving certificate with the caBundle of each entry, as the API server does.
func (d *diagnosis) checkCertificate(ctx context.Context) {
	var chain []*x509.Certificate // the certificate and its issuers, none if they are unknown
	secret, absent := get[corev1.Secret](ctx, d, d.namespace, d.secretName())
	if absent {
		d.check.found(d.secret(), "not found: the pods have no serving certificate", d.remedies(installation.MainEntry)...)
	} else if secret != nil {
		var err error
		if chain, err = cert.ParseCertsPEM(secret.Data[corev1.TLSCertKey]); err != nil {
			d.check.found(d.secret(), corev1.TLSCertKey+": "+err.Error(), d.remedies(installation.MainEntry)...)
		}
	}
	for _, entry := range installation.EntriesOf(d.configuration) {
		err := verify(chain, entry.ClientConfig.CABundle, d.options.Now, d.host())
		if errors.As(err, new(x509.UnknownAuthorityError)) {
			found := "the caBundle of " + entry.Name + " does not contain the CA of the certificate in " + d.secret()
			d.check.found(d.object(), found, d.remedies(entry.Name)...)
		} else if err != nil {
			d.check.found(d.secret(), "the API server does not accept the certificate: "+err.Error(), d.remedies(entry.Name)...)
			return
		}
	}
	if len(chain) > 0 {
		left := chain[0].NotAfter.Sub(d.options.Now)
		d.check.Detail = fmt.Sprintf("%s, expires in %s", d.secret(), duration.HumanDuration(left))
		if 0 < left && left < soon {
			d.check.found(d.secret(), "the certificate expires soon and was not renewed", d.remedies(installation.MainEntry)...)
		}
	}
}

// host is the DNS name with which the API server calls the Service.
func (d *diagnosis) host() string {
	return d.service.Name + "." + d.service.Namespace + ".svc"
}

// verify verifies a certificate and its issuers. Without a certificate, it verifies that a CA bundle contains one.
func verify(chain []*x509.Certificate, caBundle []byte, now time.Time, host string) error {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	switch hasCA := roots.AppendCertsFromPEM(caBundle); {
	case !hasCA:
		return x509.UnknownAuthorityError{}
	case len(chain) == 0:
		return nil
	}
	for _, issuer := range chain[1:] {
		intermediates.AddCert(issuer)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, CurrentTime: now, DNSName: host})
	return err
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
	return installation.Flag(d.deployment, "self-signed-secret", protocol.SelfSigned)
}

func (d *diagnosis) secret() string { return d.named("secret", d.secretName()) }

// remedies are how to get a certificate for the Service, and its CA into the caBundle of an entry.
func (d *diagnosis) remedies(entry string) []string {
	annotations := d.configuration.Annotations
	switch {
	case annotations["cert-manager.io/inject-ca-from"]+annotations["cert-manager.io/inject-ca-from-secret"] != "":
		return []string{
			d.kubectl("describe certificates.cert-manager.io"),
			"check cert-manager's cainjector and the annotation cert-manager.io/inject-ca-from of " + d.object(),
		}
	case d.selfSigned():
		return []string{
			"the pods set both within seconds, for the Service of their flags --service and --namespace; if they do not: " + d.logs(),
			d.kubectl("patch secret " + d.secretName() + ` --type=merge -p '{"data":{"tls.crt":"","tls.key":""}}'`),
		}
	default:
		return []string{
			"issue a certificate for " + d.host() + " into " + d.secret() + ", with its CA as ca.crt; if only the caBundle is wrong:",
			fmt.Sprintf(`kubectl patch mutatingwebhookconfiguration %s -p '{"webhooks":[{"name":%q,"clientConfig":`+
				`{"caBundle":"'"$(kubectl -n %s get secret %s -o jsonpath='{.data.ca\.crt}')"'"}}]}'`,
				d.configuration.Name, entry, d.namespace, d.secretName()),
		}
	}
}
