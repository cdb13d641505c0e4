package recorder_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/test/recorder"
)

func TestReviewsAreStoredByteForByteByNamespace(t *testing.T) {
	var forwarded []string
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		forwarded = append(forwarded, string(body))
		fmt.Fprint(w, "the answer")
	})
	r := recorder.Start(next)
	defer r.Close()

	sent := []string{
		`{"request": {"namespace": "a", "uid": "1"}}`,
		"{\"request\":{\"uid\":\"2\",\n\t\"namespace\":\"a\"}}\n",
		`{"request":{"namespace":"b"}}`,
		`no review`,
		`{"request":{"namespace":"a","name":"a","resource":{"group":"","version":"v1","resource":"namespaces"}}}`,
	}
	for _, body := range sent {
		if answer := post(t, r, body); answer != "the answer" {
			t.Errorf("answer to %s: %s", body, answer)
		}
	}
	if diff := cmp.Diff(sent, forwarded); diff != "" {
		t.Errorf("forwarded (-want +got):\n%s", diff)
	}
	want := map[string][]string{"a": sent[:2], "b": sent[2:3], "": sent[3:], "c": nil}
	for namespace, bodies := range want {
		var stored []string
		for _, body := range r.Reviews(namespace) {
			stored = append(stored, string(body))
		}
		if diff := cmp.Diff(bodies, stored); diff != "" {
			t.Errorf("stored for %q (-want +got):\n%s", namespace, diff)
		}
		if got := r.Count(namespace); got != len(bodies) {
			t.Errorf("count for %q: want %d, got %d", namespace, len(bodies), got)
		}
	}
}

// post sends a body with a client that trusts only the recorder's CA.
func post(t *testing.T, r *recorder.Recorder, body string) string {
	t.Helper()
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(r.CA)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	defer client.CloseIdleConnections()
	response, err := client.Post(r.URL+"/mutate", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
