package e2e_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
