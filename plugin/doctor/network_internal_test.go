package doctor

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/plugin/installation"
)

func TestErrorsOfConnectionsHaveRemedies(t *testing.T) {
	const post = `failed to call webhook: Post "https://handoff-webhook.handoff-system.svc:443/mutate?timeout=2s": `
	d := &diagnosis{in: &installation.Installation{}, deployment: &appsv1.Deployment{}}
	d.deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "webhook", Args: []string{"--webhook-port=10260"}}}
	for text, want := range map[string]string{
		post + "context deadline exceeded":                      "TCP port 10260",
		post + "dial tcp 10.0.202.48:10260: i/o timeout":        "TCP port 10260",
		post + "Address is not allowed":                         "hostNetwork",
		"dial tcp 10.0.202.48:10260: connect: no route to host": "TCP port 10260",
		post + "dial tcp 10.0.0.9:10260: connection refused":    "compare the targetPort",
		post + "x509: certificate signed by unknown authority":  "see certificate",
		`no endpoints available for service "handoff-webhook"`:  "get pods",
		post + "EOF": "get pods",
	} {
		if got := strings.Join(d.connect(text), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: want a remedy with %q, got %s", text, want, got)
		}
	}
}
