package e2e_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	certutil "k8s.io/client-go/util/cert"
)

const aReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"UPDATE",
"kind":{"group":"apps","version":"v1","kind":"Deployment"},"namespace":"x","name":"web",
"object":{"spec":{"replicas":1}},"oldObject":{"spec":{"replicas":3}}}}`

// said waits until the readiness endpoint reports that the server is not ready, with all of these texts.
func (s *server) said(wants ...string) {
	s.Helper()
	s.answers(http.StatusServiceUnavailable, wants...)
}

// answers waits until the readiness endpoint returns a status and all of these texts, with and without the query parameter verbose.
func (s *server) answers(status int, wants ...string) {
	s.Helper()
	for _, path := range []string{"/readyz?verbose", "/readyz"} {
		s.eventually("readiness contains "+strings.Join(wants, ", "), func() bool {
			got, answer := s.get(path)
			for _, want := range wants {
				if got != status || !strings.Contains(answer, want) {
					return false
				}
			}
			return true
		})
	}
}

func TestReadinessRequiresACertificateAndSyncedCaches(t *testing.T) {
	t.Parallel()
	const user = "handoff-without-rights"
	localOnly(t)
	kubeconfig, err := cluster.Plane.AddUser(user)
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(newNamespace(t, "enforce"), kubeconfig)
	s.eventually("the process lives", func() bool { status, _ := s.get("/healthz"); return status == http.StatusOK })
	refused := func(resource, group string) string {
		return `User "` + user + `" cannot list resource "` + resource + `" in API group "` + group + `" at the cluster scope`
	}
	s.said("[-]caches: ", "[-]certificate: ", "[+]serving ok", filepath.Join(s.certDir, "tls.crt")+": no such file",
		refused("namespaces", ""), refused("horizontalpodautoscalers", "autoscaling"),
		refused("customresourcedefinitions", "apiextensions.k8s.io"))
	for _, want := range []string{filepath.Join(s.certDir, "tls.crt"), `cannot list resource \"namespaces\"`, "not ready"} {
		if !strings.Contains(s.process.Log(), want) {
			t.Errorf("the log does not name %s:\n%s", want, tail(s.process.Log()))
		}
	}

	crt, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.writeCertificate(crt[:len(crt)/2], key)
	if status, answer := s.get("/readyz/certificate"); status == http.StatusOK || !strings.Contains(answer, "tls.crt") {
		t.Errorf("half a certificate is accepted: %d %s", status, answer)
	}
	s.writeCertificate(crt, key)
	if status, answer := s.get("/readyz/certificate"); status != http.StatusOK {
		t.Errorf("a valid certificate: %d %s", status, answer)
	}
	if status, _ := s.get("/readyz"); status == http.StatusOK {
		t.Error("it is ready before its caches have synced")
	}
	response, err := s.review()
	if err != nil {
		t.Fatal(err)
	}
	if !response.Allowed || response.UID != "u" || len(response.Patch) > 0 ||
		strings.Join(response.Warnings, "\n") != "handoff: skipped, still starting: the write was not modified" {
		t.Errorf("before the caches are ready: got %+v", response)
	}

	s.kubectl("create", "clusterrole", s.name, "--verb=list,watch",
		"--resource=namespaces,horizontalpodautoscalers.autoscaling,customresourcedefinitions.apiextensions.k8s.io")
	s.kubectl("create", "clusterrolebinding", s.name, "--clusterrole="+s.name, "--user="+user)
	s.waitReady()
}
