package objects

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// ExternalMetrics serves one external metric for each namespace, 0 unless it was set: what a metrics adapter reports to the HPA
// controller.
type ExternalMetrics struct {
	mutex  sync.Mutex
	values map[string]int
}

const externalMetricsPath = "/apis/external.metrics.k8s.io/v1beta1"

// externalMetricsAPI is the manifest of an APIService for ExternalMetrics, served on this machine with TLS at the port %s.
const externalMetricsAPI = `
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

// ServeExternalMetrics serves metrics that are all 0 through the API server while the test runs.
func ServeExternalMetrics(tb testing.TB, kubectl func(stdin string, args ...string)) *ExternalMetrics {
	tb.Helper()
	m := &ExternalMetrics{values: map[string]int{}}
	server := httptest.NewTLSServer(m)
	tb.Cleanup(server.Close)
	kubectl(fmt.Sprintf(externalMetricsAPI, server.URL[strings.LastIndex(server.URL, ":")+1:]), "apply", "-f", "-")
	kubectl("", "wait", "--for=condition=Available", "--timeout=60s", "apiservice/v1beta1.external.metrics.k8s.io")
	return m
}

// Set sets the metric of a namespace.
func (m *ExternalMetrics) Set(namespace string, value int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.values[namespace] = value
}

// ServeHTTP answers a request for /namespaces/NAME/METRIC, or for the API's resources.
func (m *ExternalMetrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, externalMetricsPath)
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(path, "/")
	if len(parts) != 4 {
		fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "external.metrics.k8s.io/v1beta1", "resources": []}`)
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	fmt.Fprintf(w, `{"kind": "ExternalMetricValueList", "apiVersion": "external.metrics.k8s.io/v1beta1", "metadata": {}, "items": [
		{"metricName": %q, "metricLabels": {}, "timestamp": "2000-01-01T00:00:00Z", "value": "%d"}]}`, parts[3], m.values[parts[2]])
}
