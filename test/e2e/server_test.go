package e2e_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	certutil "k8s.io/client-go/util/cert"

	"github.com/ownership-handoff/handoff/test/controlplane"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
)

// server is a separate webhook of a test, which starts in a state from which it must recover.
type server struct {
	*namespace
	process                          *process.Process
	certDir, health, metrics, mutate string
}

func webhookBinary(t *testing.T) string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "bin", "handoff-webhook")
}

// startServer starts a webhook without a certificate.
func startServer(n *namespace, kubeconfig string, args ...string) *server {
	n.Helper()
	localOnly(n.T)
	ports, err := process.FreePorts(3)
	if err != nil {
		n.Fatal(err)
	}
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	s := &server{namespace: n, certDir: n.TempDir()}
	s.health, s.metrics, s.mutate = "http://"+address(0), "http://"+address(1)+"/metrics", "https://"+address(2)+"/mutate"
	log := filepath.Join(cluster.Plane.Dir, fmt.Sprintf("%s-%d.log", n.name, ports[2]))
	s.process, err = process.Start(log, webhookBinary(n.T), append([]string{
		"--kubeconfig=" + kubeconfig, fmt.Sprintf("--webhook-port=%d", ports[2]), "--webhook-cert-dir=" + s.certDir,
		"--metrics-bind-address=" + address(1), "--health-probe-bind-address=" + address(0), "--shutdown-delay=0s",
	}, args...)...)
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() {
		if err := s.process.Stop(patience); err != nil {
			n.Error(err)
		}
		if n.Failed() {
			n.Logf("%s:\n%s", log, tail(s.process.Log()))
		}
	})
	return s
}

// get returns the status and the body of a probe.
func (s *server) get(path string) (int, string) {
	s.Helper()
	return s.read(s.health + path)
}

func (s *server) read(url string) (int, string) {
	s.Helper()
	response, err := http.Get(url)
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

// metric reports whether the metrics contain a line.
func (s *server) metric(line string) bool {
	s.Helper()
	_, text := s.read(s.metrics)
	return strings.Contains(text, "\n"+line+"\n")
}

// review posts aReview on a new connection and returns the response.
func (s *server) review(certificates ...tls.Certificate) (*admissionv1.AdmissionResponse, error) {
	s.Helper()
	return s.post(aReview, certificates...)
}

// post posts a review on a new connection and returns the response.
func (s *server) post(body string, certificates ...tls.Certificate) (*admissionv1.AdmissionResponse, error) {
	s.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	response, err := client.Post(s.mutate, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return decode(response.Body)
}

func decode(body io.Reader) (*admissionv1.AdmissionResponse, error) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(body).Decode(&review); err != nil {
		return nil, err
	}
	return review.Response, nil
}

// half sends the first half of aReview, waits until it is in flight, and returns a function that sends the rest.
func (s *server) half() (finish func() (*admissionv1.AdmissionResponse, error)) {
	s.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(s.mutate, "https://"), "/mutate")
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = connection.Close() })
	send := func(text string) {
		s.Helper()
		if _, err := io.WriteString(connection, text); err != nil {
			s.Fatal(err)
		}
	}
	send(fmt.Sprintf("POST /mutate HTTP/1.1\r\nHost: handoff\r\nContent-Length: %d\r\n\r\n%s", len(aReview), aReview[:len(aReview)/2]))
	s.eventually("it is in flight", func() bool { return s.metric("handoff_reviews_in_flight 1") })
	return func() (*admissionv1.AdmissionResponse, error) {
		s.Helper()
		send(aReview[len(aReview)/2:])
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			return nil, err
		}
		defer func() { _ = response.Body.Close() }()
		return decode(response.Body)
	}
}

func (s *server) writeCertificate(crt, key []byte) {
	s.Helper()
	for name, content := range map[string][]byte{"tls.crt": crt, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(s.certDir, name), content, 0o600); err != nil {
			s.Fatal(err)
		}
	}
}

// ready writes a certificate and waits until the server is ready.
func (s *server) ready() {
	s.Helper()
	crt, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		s.Fatal(err)
	}
	s.writeCertificate(crt, key)
	s.waitReady()
}

func (s *server) waitReady() {
	s.Helper()
	var answer string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		var status int
		if status, answer = s.get("/readyz?verbose"); status == http.StatusOK {
			return
		}
	}
	s.Fatalf("it is not ready: %s", answer)
}

// metricHas reports whether the metrics contain a name.
func (s *server) metricHas(name string) bool {
	s.Helper()
	_, text := s.read(s.metrics)
	return strings.Contains(text, "\n"+name)
}
