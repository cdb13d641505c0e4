package e2e_test

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/ownership-handoff/handoff/internal/expect"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// server is a separate webhook of a test, which starts in a state from which it must recover.
type server struct {
	*namespace
	webhook *handofftest.Webhook
	certDir string
}

// startServer starts a webhook without a certificate.
func startServer(n *namespace, kubeconfig string, args ...string) *server {
	n.Helper()
	localOnly(n.T)
	s := &server{namespace: n, certDir: n.TempDir()}
	var err error
	s.webhook, err = handofftest.Start(n.Context(), cluster.Plane, handofftest.Options{Kubeconfig: kubeconfig, CertDir: s.certDir, Args: args, Unready: true})
	expect.NoError(n, err)
	n.Cleanup(func() {
		if err := s.webhook.Stop(); err != nil {
			n.Error(err)
		}
		if n.Failed() {
			n.Logf("the webhook of %s:\n%s", n.name, tail(s.webhook.Log()))
		}
	})
	return s
}

// get returns the status and the body of a probe.
func (s *server) get(path string) (int, string) {
	s.Helper()
	response, err := http.Get(strings.TrimSuffix(s.webhook.Ready, "/readyz") + path)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	expect.NoError(s, err)
	return response.StatusCode, string(body)
}

// said waits until the readiness endpoint reports that the server is not ready, with all of these texts.
func (s *server) said(wants ...string) {
	s.Helper()
	s.eventually("readiness contains "+strings.Join(wants, ", "), func() bool {
		status, answer := s.get("/readyz?verbose")
		return status == http.StatusServiceUnavailable && containsAll(answer, wants)
	})
}

const aReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"UPDATE",
"kind":{"group":"apps","version":"v1","kind":"Deployment"},"namespace":"x","name":"web",
"object":{"spec":{"replicas":1}},"oldObject":{"spec":{"replicas":3}}}}`

// review posts aReview on a new connection and returns the response.
func (s *server) review(certificates ...tls.Certificate) (*admissionv1.AdmissionResponse, error) {
	return s.post(strings.NewReader(aReview), certificates...)
}

// post posts a review on a new connection and returns the response.
func (s *server) post(body io.Reader, certificates ...tls.Certificate) (*admissionv1.AdmissionResponse, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	response, err := client.Post(s.webhook.URL+"/mutate", "application/json", body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var review admissionv1.AdmissionReview
	err = json.NewDecoder(response.Body).Decode(&review)
	return review.Response, err
}

// half sends the first half of aReview, waits until it is in flight, and returns a function that sends the rest.
func (s *server) half() (finish func() (*admissionv1.AdmissionResponse, error)) {
	s.Helper()
	body, writer := io.Pipe()
	var response *admissionv1.AdmissionResponse
	answered := make(chan error)
	go func() {
		var err error
		response, err = s.post(body)
		answered <- err
	}()
	send := func(text string) {
		s.Helper()
		_, err := io.WriteString(writer, text)
		expect.NoError(s, err)
	}
	send(aReview[:len(aReview)/2])
	s.eventually("it is in flight", func() bool { return s.metricHas("handoff_reviews_in_flight 1\n") })
	return func() (*admissionv1.AdmissionResponse, error) {
		s.Helper()
		send(aReview[len(aReview)/2:])
		_ = writer.Close() // it never fails
		err := <-answered
		return response, err
	}
}

// ready writes a certificate and waits until the server is ready.
func (s *server) ready() {
	s.Helper()
	_, err := handofftest.WriteCertificate(s.certDir)
	expect.NoError(s, err)
	s.waitReady()
}

func (s *server) waitReady() {
	s.Helper()
	expect.NoError(s, s.webhook.WaitReady(s.Context()))
}

// metricHas reports whether a line of the metrics begins with a text.
func (s *server) metricHas(beginning string) bool {
	s.Helper()
	text, err := s.webhook.Metrics(s.Context())
	return err == nil && strings.Contains(text, "\n"+beginning)
}
