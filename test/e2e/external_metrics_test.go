package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// externalMetrics serves one external metric for each namespace, 0 unless it was set: what a metrics adapter reports to the HPA
// controller.
type externalMetrics struct {
	mutex  sync.Mutex
	values map[string]int
}

const (
	externalMetricsAPI = "/apis/external.metrics.k8s.io/v1beta1"
	apiService         = `
apiVersion: v1
kind: Service
metadata: {name: external-metrics, namespace: default}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.external.metrics.k8s.io}
spec:
  group: external.metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: external-metrics, namespace: default, port: %s}
`
)

// serveExternalMetrics serves external metrics through the API server while the test runs.
func serveExternalMetrics(t *testing.T) *externalMetrics {
	t.Helper()
	m := &externalMetrics{values: map[string]int{}}
	server := httptest.NewTLSServer(m)
	t.Cleanup(server.Close)
	n := &namespace{T: t, name: "default"}
	n.apply(fmt.Sprintf(apiService, server.URL[strings.LastIndex(server.URL, ":")+1:]))
	// Namespaces cannot be deleted while an API of the cluster is registered and not served.
	t.Cleanup(func() {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion("apiregistration.k8s.io/v1")
		o.SetKind("APIService")
		o.SetName("v1beta1.external.metrics.k8s.io")
		if err := cluster.client.Delete(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
	n.kubectl("wait", "--for=condition=Available", "--timeout=60s", "apiservice/v1beta1.external.metrics.k8s.io")
	return m
}

func (m *externalMetrics) set(n *namespace, value int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.values[n.name] = value
}

// ServeHTTP answers a request for /namespaces/NAME/METRIC, or for the API's resources.
func (m *externalMetrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, externalMetricsAPI)
	if !ok {
		http.NotFound(w, r)
		return
	}
	answer := map[string]any{
		"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": []any{},
	}
	if parts := strings.Split(path, "/"); len(parts) == 4 {
		m.mutex.Lock()
		value := m.values[parts[2]]
		m.mutex.Unlock()
		answer = map[string]any{
			"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": map[string]any{},
			"items": []any{map[string]any{
				"metricName": parts[3], "metricLabels": map[string]any{}, "timestamp": "2000-01-01T00:00:00Z", "value": strconv.Itoa(value),
			}},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
