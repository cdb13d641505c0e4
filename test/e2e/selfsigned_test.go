package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	if bytes.Equal(third["ca.crt"], second["ca.crt"]) {
		t.Error("want a new CA")
	}
	bundles, err := n.bundles()
	if err != nil {
		t.Fatal(err)
	}
	for _, bundle := range bundles {
		if !bytes.Contains(bundle, third["ca.crt"]) || !bytes.Contains(bundle, first["ca.crt"]) {
			t.Errorf("want the old and the new CA in the CA bundle, got\n%s", bundle)
		}
	}
	n.kubectl("delete", "secret", selfSignedSecret)
	fourth := agree(n, servers, "both serve the recreated certificate")
	if bytes.Equal(fourth["ca.crt"], third["ca.crt"]) {
		t.Error("want a new CA")
	}
	well, failures := stop()
	if len(failures) > 0 || well < 10 {
		t.Errorf("%d rounds succeeded, %d failures:\n%s", well, len(failures), strings.Join(failures, "\n"))
	}
	t.Logf("%d rounds succeeded", well)
}

// Applying the manifests again does not remove the CA bundle, because they do not contain it. If a client removes it anyway, or
// installs the configuration later, handoff writes it.
func TestARemovedCABundleIsRestored(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	servers := startSelfSigned(n, 1)
	data := agree(n, servers, "it serves")
	n.kubectl("patch", "mutatingwebhookconfiguration", n.name, "--type=json", "-p", `[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)
	again := agree(n, servers, "the CA bundle is restored")
	if !bytes.Equal(again["tls.crt"], data["tls.crt"]) || !bytes.Equal(again["ca.crt"], data["ca.crt"]) {
		t.Error("want the same certificate and CA")
	}
}

func TestWithoutPermissionForTheSecretItIsNotReady(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	user := n.name + "-without-rights"
	localOnly(t)
	kubeconfig, err := cluster.Plane.AddUser(user)
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(n, kubeconfig, "--self-signed", "--namespace="+n.name, "--webhook-configuration="+n.name)
	s.said("[-]self-signed: ", `User "`+user+`" cannot get resource "secrets" in API group "" in the namespace "`+n.name+`"`)
}
