package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/internal/expect"
)

func TestCertificateRotationFailsNoRequest(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	servers := startSelfSigned(n, 2)
	first := agree(n, servers, "both serve the certificate that one of them created")
	for _, s := range servers {
		s.waitReady()
		for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
			if content, err := os.ReadFile(filepath.Join(s.certDir, name)); err != nil || !bytes.Equal(content, first[name]) {
				t.Errorf("%s is not the Secret's: %v", name, err)
			}
		}
	}
	if bundles, err := n.bundles(); err != nil || !bytes.Equal(bundles[0], first["ca.crt"]) || !bytes.Equal(bundles[1], first["ca.crt"]) {
		t.Errorf("want only the CA in the CA bundles, got %v\n%s", err, slices.Concat(bundles...))
	}
	n.eventually("the API server calls both", func() bool {
		return n.create() == nil && servers[0].metricHas("handoff_reviews_total") && servers[1].metricHas("handoff_reviews_total")
	})
	stop := stream(n, servers)

	n.without("tls.crt")
	second := agree(n, servers, "both serve the new certificate")
	if !bytes.Equal(second["ca.crt"], first["ca.crt"]) || bytes.Equal(second["tls.crt"], first["tls.crt"]) {
		t.Error("want a new certificate from the same CA")
	}
	n.without("ca.crt")
	third := agree(n, servers, "both serve a certificate of the new CA")
	expect.Equal(t, "the CA is the same as before", false, bytes.Equal(third["ca.crt"], second["ca.crt"]))
	bundles, err := n.bundles()
	expect.NoError(t, err)
	for _, bundle := range bundles {
		if !bytes.Contains(bundle, third["ca.crt"]) || !bytes.Contains(bundle, first["ca.crt"]) {
			t.Errorf("want the old and the new CA in the CA bundle, got\n%s", bundle)
		}
	}
	n.kubectl("delete", "secret", selfSignedSecret)
	fourth := agree(n, servers, "both serve the recreated certificate")
	expect.Equal(t, "the CA is the same as before", false, bytes.Equal(fourth["ca.crt"], third["ca.crt"]))
	well, failures := stop()
	// Applying the manifests again does not remove the CA bundle, because they do not contain it. A client can.
	n.kubectl("patch", "mutatingwebhookconfiguration", n.name, "--type=json", "-p", `[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)
	if again := agree(n, servers, "the CA bundle is restored"); !bytes.Equal(again["tls.crt"], fourth["tls.crt"]) {
		t.Error("want the same certificate")
	}
	if len(failures) > 0 || well < 10 {
		t.Errorf("%d rounds succeeded, %d failures:\n%s", well, len(failures), strings.Join(failures, "\n"))
	}
	t.Logf("%d rounds succeeded", well)
}

func TestWhatIsMissingIsReportedAsNotReady(t *testing.T) {
	t.Parallel()
	localOnly(t)
	n := newNamespace(t, "enforce")
	kubeconfig, err := cluster.Plane.AddUser(n.name)
	expect.NoError(t, err)
	startServer(n, kubeconfig, "--self-signed", "--namespace="+n.name, "--webhook-configuration="+n.name).
		said("[-]self-signed: ", `User "`+n.name+`" cannot get resource "secrets" in API group "" in the namespace "`+n.name+`"`)
	missing := filepath.Join(t.TempDir(), "ca.crt")
	startServer(n, cluster.Plane.Kubeconfig, "--client-ca="+missing).said("[-]client-ca: ", missing, "no such file", "all clients are rejected")
}
