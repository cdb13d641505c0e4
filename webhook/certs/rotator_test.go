package certs_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/webhook/certs"
)

// emptyCluster is an API server without objects, which accepts a Secret.
func emptyCluster(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.Method == http.MethodPost {
			body, _ := io.ReadAll(req.Body)
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write(body)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]string{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound"})
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// The name of the configuration can be another one, for example because kustomize has added a prefix: then no API server would trust
// the certificate, although everything else works.
func TestAMissingConfigurationIsReportedAndTheCertificateServed(t *testing.T) {
	var mutex sync.Mutex
	var lines []string
	dir := t.TempDir()
	r, err := certs.New(emptyCluster(t), certs.Options{ //nolint:gosec // names, not credentials
		Namespace: "handoff-system", Secret: "handoff-webhook-tls", Service: "handoff-webhook", Configuration: "handoff", Dir: dir,
		Log: funcr.New(func(_, line string) {
			mutex.Lock()
			defer mutex.Unlock()
			lines = append(lines, line)
		}, funcr.Options{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Warning() != nil || r.Ready() == nil {
		t.Errorf("before the first sync, want it not ready without a warning, got %v and %v", r.Ready(), r.Warning())
	}
	go func() { _ = r.Run(t.Context()) }()
	for end := time.Now().Add(30 * time.Second); r.Ready() != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	if err := r.Ready(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tls.crt")); err != nil {
		t.Error(err)
	}
	const want = "MutatingWebhookConfiguration handoff does not exist"
	if err := r.Warning(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want a warning, got %v", err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	if log := strings.Join(lines, "\n"); strings.Count(log, want) != 1 {
		t.Errorf("want it logged once, got\n%s", log)
	}
}
