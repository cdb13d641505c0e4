package e2e_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// server is a webhook of a test's own, started in a state that it has to get out of by itself.
type server struct {
	*namespace
	process                 *process.Process
	certDir, health, mutate string
}

func webhookBinary(t *testing.T) string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "bin", "handoff-webhook")
}

// newServer starts the webhook without a certificate, as a user who may do nothing.
func newServer(t *testing.T, user string) *server {
	t.Helper()
	kubeconfig, err := cluster.Plane.AddUser(user)
	if err != nil {
		t.Fatal(err)
	}
	ports, err := process.FreePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{namespace: newNamespace(t, "enforce"), certDir: t.TempDir()}
	s.health = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	s.mutate = fmt.Sprintf("https://127.0.0.1:%d/mutate", ports[1])
	s.process, err = process.Start(filepath.Join(cluster.Plane.Dir, user+".log"), webhookBinary(t),
		"--kubeconfig="+kubeconfig, fmt.Sprintf("--webhook-port=%d", ports[1]), "--webhook-cert-dir="+s.certDir,
		"--metrics-bind-address=0", "--health-probe-bind-address="+strings.TrimPrefix(s.health, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.process.Stop(10 * time.Second) })
	return s
}

// get returns the status of a probe, and its answer.
func (s *server) get(path string) (int, string) {
	s.Helper()
	response, err := http.Get(s.health + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// review posts an AdmissionReview and returns the response.
func (s *server) review(body string) (*admissionv1.AdmissionResponse, error) {
	s.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Post(s.mutate, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&review); err != nil {
		return nil, err
	}
	return review.Response, nil
}

const aReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"UPDATE",
"kind":{"group":"apps","version":"v1","kind":"Deployment"},"namespace":"x","name":"web",
"object":{"spec":{"replicas":1}},"oldObject":{"spec":{"replicas":3}}}}`

func TestReadyMeansACertificateAndSyncedCaches(t *testing.T) {
	besideOnly(t)
	t.Parallel()
	s := newServer(t, "handoff-without-rights")
	s.eventually("the process lives", func() bool { status, _ := s.get("/healthz"); return status == http.StatusOK })
	if status, answer := s.get("/readyz?verbose"); status == http.StatusOK ||
		!strings.Contains(answer, "[-]caches") || !strings.Contains(answer, "[-]certificate") {
		t.Errorf("without a certificate and without rights: got %d\n%s", status, answer)
	}
	if !strings.Contains(s.process.Log(), filepath.Join(s.certDir, "tls.crt")) {
		t.Errorf("the log does not name the missing file:\n%s", tail(s.process.Log()))
	}

	crt, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.writeCertificate(crt[:len(crt)/2], key) // half-written
	time.Sleep(1500 * time.Millisecond)
	if status, _ := s.get("/readyz/certificate"); status == http.StatusOK {
		t.Error("half a certificate counts as one")
	}
	s.writeCertificate(crt, key)
	s.eventually("the certificate is loaded", func() bool { status, _ := s.get("/readyz/certificate"); return status == http.StatusOK })
	if status, _ := s.get("/readyz"); status == http.StatusOK {
		t.Error("it is ready without knowing the cluster")
	}
	response, err := s.review(aReview)
	if err != nil {
		t.Fatal(err)
	}
	if !response.Allowed || response.UID != "u" || len(response.Patch) > 0 ||
		strings.Join(response.Warnings, "\n") != "handoff: did nothing: it is starting; the write went through unchanged" {
		t.Errorf("before the caches are ready: got %+v", response)
	}

	s.kubectl("create", "clusterrole", s.name, "--verb=get,list,watch",
		"--resource=namespaces,horizontalpodautoscalers.autoscaling,customresourcedefinitions.apiextensions.k8s.io")
	s.kubectl("create", "clusterrolebinding", s.name, "--clusterrole="+s.name, "--user=handoff-without-rights")
	s.eventually("it is ready", func() bool { status, _ := s.get("/readyz"); return status == http.StatusOK })
}

func (s *server) writeCertificate(crt, key []byte) {
	s.Helper()
	for name, content := range map[string][]byte{"tls.crt": crt, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(s.certDir, name), content, 0o600); err != nil {
			s.Fatal(err)
		}
	}
}

func TestAMistakeInFlagsOrConfigurationIsSaidAtTheStart(t *testing.T) {
	t.Parallel()
	n := &namespace{T: t, name: "default"}
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"an unknown flag":    {[]string{"--no-such-flag"}, []string{"unknown flag: --no-such-flag"}},
		"an argument":        {[]string{"serve"}, []string{`unexpected argument "serve"`}},
		"a missing file":     {[]string{"--config=/no/such/file"}, []string{"/no/such/file", "no such file"}},
		"an unknown field":   {[]string{"--config=" + n.file("a.yaml", "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\napplyers: []\n")}, []string{"a.yaml", "line 3", "applyers"}},
		"a path that is off": {[]string{"--config=" + n.file("b.yaml", "apiVersion: config.ownership-handoff.io/v1alpha1\nkind: HandoffConfiguration\ncontrollers: [{fields: [spec.replicas]}]\n")}, []string{"b.yaml", "controllers[0].fields[0]", "a dot is missing before a field name"}},
		"a bad kubeconfig":   {[]string{"--kubeconfig=/no/such/file"}, []string{"--kubeconfig", "/no/such/file"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), webhookBinary(t), c.args...)
			cmd.Stderr = &stderr
			if err := cmd.Run(); err == nil {
				t.Error("it exits with 0")
			}
			for _, want := range c.want {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("it does not say %q: %s", want, stderr.String())
				}
			}
		})
	}
}
