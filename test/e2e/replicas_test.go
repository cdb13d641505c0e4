package e2e_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
)

const selfSignedSecret = "handoff-webhook-tls"

// startSelfSigned starts replicas with self-signed certificates for localhost, and registers each as a separate webhook with failure
// policy Fail for ConfigMaps of the namespace. The API server therefore calls all of them, and a failed call fails the write.
func startSelfSigned(n *namespace, replicas int) []*server {
	n.Helper()
	n.Cleanup(func() { n.run("", "delete", "mutatingwebhookconfiguration", n.name, "--ignore-not-found") })
	servers := make([]*server, 0, replicas)
	var hooks strings.Builder
	hooks.WriteString("apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: " + n.name + "}\nwebhooks:\n")
	for i := range replicas {
		s := startServer(n, cluster.Plane.Kubeconfig, "--self-signed", "--namespace="+n.name, "--webhook-configuration="+n.name, "--service=localhost")
		servers = append(servers, s)
		hooks.WriteString(strings.NewReplacer("{name}", n.name, "{number}", string(rune('a'+i)),
			"{url}", strings.Replace(s.webhook.URL+"/mutate", "127.0.0.1", "localhost", 1)).Replace(testdata("self-signed-hook")))
	}
	n.apply(hooks.String())
	return servers
}

// shared returns the data of the Secret, or nil if it does not exist.
func (n *namespace) shared() map[string][]byte {
	n.Helper()
	secret := &corev1.Secret{}
	err := cluster.client.Get(n.Context(), client.ObjectKey{Namespace: n.name, Name: selfSignedSecret}, secret)
	expect.NoError(n, client.IgnoreNotFound(err))
	return secret.Data
}

// bundles returns the CA bundles of the configuration.
func (n *namespace) bundles() (bundles [][]byte, err error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := cluster.client.Get(n.Context(), client.ObjectKey{Name: n.name}, configuration); err != nil {
		return nil, err
	}
	for i := range configuration.Webhooks {
		bundles = append(bundles, configuration.Webhooks[i].ClientConfig.CABundle)
	}
	return bundles, nil
}

// served returns the serving certificate of a replica, or nil if the CA bundle does not verify it.
func (s *server) served(bundle []byte) []byte {
	s.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	connection, err := tls.Dial("tcp", strings.TrimPrefix(s.webhook.URL, "https://"), &tls.Config{RootCAs: roots, ServerName: "localhost"})
	if err != nil {
		return nil
	}
	defer func() { _ = connection.Close() }()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: connection.ConnectionState().PeerCertificates[0].Raw})
}

// agree waits until every replica serves the certificate in the Secret, and every CA bundle verifies it.
func agree(n *namespace, servers []*server, what string) map[string][]byte {
	n.Helper()
	var data map[string][]byte
	n.eventually(what, func() bool {
		if data = n.shared(); len(data["tls.crt"]) == 0 || len(data["ca.crt"]) == 0 {
			return false
		}
		bundles, err := n.bundles()
		for i, s := range servers {
			if err != nil || len(bundles) != len(servers) || !bytes.Contains(bundles[i], data["ca.crt"]) ||
				!bytes.Equal(s.served(bundles[i]), data["tls.crt"]) {
				return false
			}
		}
		return true
	})
	return data
}

// stream creates ConfigMaps, which every replica reviews, and opens new connections to each replica, until the returned function
// is called. The function returns the number of successful rounds and the failures.
func stream(n *namespace, servers []*server) (stop func() (int, []string)) {
	n.Helper()
	end, ended := make(chan struct{}), make(chan struct{})
	var well int
	var failures []string
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
			}
			before := len(failures)
			bundles, err := n.bundles()
			if err != nil {
				failures = append(failures, err.Error())
			}
			for i, s := range servers {
				if err == nil && s.served(bundles[i]) == nil {
					failures = append(failures, "the CA bundle does not verify the certificate of "+s.webhook.URL)
				}
			}
			if err := n.create(); err != nil {
				failures = append(failures, err.Error())
			}
			if len(failures) == before {
				well++
			}
		}
	}()
	return func() (int, []string) {
		close(end)
		<-ended
		return well, failures
	}
}

func (n *namespace) create() error {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: n.name, GenerateName: "call-"}}
	return cluster.client.Create(n.Context(), o, client.DryRunAll)
}

// without empties a key of the Secret. The API server requires the keys of this Secret type.
func (n *namespace) without(key string) {
	n.Helper()
	n.kubectl("patch", "secret", selfSignedSecret, "--type=merge", "-p", `{"data":{"`+key+`":""}}`)
}
