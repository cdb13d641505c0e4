package e2e_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ownership-handoff/handoff/test/objects"
)

// serveExternalMetrics serves external metrics through the API server while the test runs.
func serveExternalMetrics(t *testing.T) *objects.ExternalMetrics {
	t.Helper()
	m := objects.NewExternalMetrics()
	server := httptest.NewTLSServer(m)
	t.Cleanup(server.Close)
	n := &namespace{T: t, name: "default"}
	n.apply(fmt.Sprintf(objects.ExternalMetricsAPI, server.URL[strings.LastIndex(server.URL, ":")+1:]))
	// Namespaces cannot be deleted while an API of the cluster is registered and not served.
	t.Cleanup(func() { n.kubectl("delete", "apiservice", "v1beta1.external.metrics.k8s.io") })
	n.kubectl("wait", "--for=condition=Available", "--timeout=60s", "apiservice/v1beta1.external.metrics.k8s.io")
	return m
}
