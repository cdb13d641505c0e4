package e2e_test

import (
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ownership-handoff/handoff/internal/expect"
)

// clientOf returns a client certificate for a user, signed by the control plane's CA.
func clientOf(t *testing.T, name string) tls.Certificate {
	t.Helper()
	localOnly(t)
	kubeconfig, err := cluster.Plane.AddUser(name)
	expect.NoError(t, err)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	expect.NoError(t, err)
	certificate, err := tls.X509KeyPair(config.CertData, config.KeyData)
	expect.NoError(t, err)
	return certificate
}

func TestOnlyClientsOfTheClientCAAreServed(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	apiserver := clientOf(t, "kube-apiserver-of-webhooks")
	other := clientOf(t, "somebody-else")
	authority := filepath.Join(cluster.Plane.Dir, "kube-apiserver", "client-cert-auth-ca.crt")
	s := startServer(n, cluster.Plane.Kubeconfig, "--client-ca="+authority, "--client-name=kube-apiserver-of-webhooks")
	s.ready()
	_, err := s.review()
	expect.Error(t, "without a certificate", "certificate required", err)
	_, err = s.review(other)
	expect.Error(t, "with another name", "bad certificate", err)
	if response, err := s.review(apiserver); err != nil || !response.Allowed || response.UID != "u" {
		t.Errorf("with the certificate and the name: got %+v, %v", response, err)
	}
	if !strings.Contains(s.webhook.Log(), "connections failed") {
		t.Errorf("the rejected connection is not logged:\n%s", tail(s.webhook.Log()))
	}
}
