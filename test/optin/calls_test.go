package optin_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/ownership"
)

// manifest returns a Deployment and a Secret that change with each generation.
func manifest(generation int, annotations string) string {
	return strings.NewReplacer("GENERATION", strconv.Itoa(generation), "ANNOTATIONS", annotations).Replace(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {ANNOTATIONS}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:GENERATION"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: web, annotations: {ANNOTATIONS}}
stringData: {password: "GENERATION"}
`)
}

// play creates and updates objects in a namespace, and returns what the audit log says of these writes.
func play(t *testing.T, namespace, annotations string) []string {
	t.Helper()
	kubectl(t, "", "delete", "deployment,secret", "web", "-n", namespace, "--ignore-not-found")
	offset := auditOffset(t)
	kubectl(t, manifest(1, annotations), "apply", "-n", namespace, "-f-")
	kubectl(t, manifest(2, annotations), "apply", "-n", namespace, "-f-")
	for _, kind := range []string{"deployment", "secret"} {
		kubectl(t, "", "patch", kind, "web", "-n", namespace, "--type=merge", "-p", `{"metadata":{"labels":{"team":"web"}}}`)
	}
	kubectl(t, "", "scale", "deployment", "web", "--replicas=4", "-n", namespace)
	return audited(t, offset, namespace)
}

// written is what the audit log says of play if the API server calls a webhook for it.
func written(called string) []string {
	return []string{
		"create deployments: " + called, "create secrets: ", "patch deployments: " + called, "patch secrets: " + called,
		"patch deployments: " + called, "patch secrets: " + called, "patch deployments: ",
	}
}

const (
	byNamespace = "webhook.ownership-handoff.io"
	byObject    = "objects.ownership-handoff.io"
)

// TestNamespacesAreCalledForOnlyWhileTheyHaveOptedIn reads the API server's own record of the calls.
func TestNamespacesAreCalledForOnlyWhileTheyHaveOptedIn(t *testing.T) {
	name := newNamespace(t)
	for _, step := range []struct{ annotate, want string }{
		{"team=web", ""}, // before it opts in
		{mode + "=enforce", byNamespace},
		{mode + "=warn", byNamespace},
		{mode + "=off", ""},
		{mode + "=enfroce", byNamespace}, // counts as warn
		{mode + "-", ""},
	} {
		kubectl(t, "", "annotate", "--overwrite", "namespace", name, step.annotate)
		before := reviews(t)
		if diff := cmp.Diff(written(step.want), play(t, name, "")); diff != "" {
			t.Errorf("after kubectl annotate %s, the API server's calls (-want +got):\n%s", step.annotate, diff)
		}
		kubectl(t, "", "label", "namespace", name, "step=x", "--overwrite") // a write of the namespace itself
		if still := cmp.Equal(before, reviews(t)); still != (step.want == "") {
			t.Errorf("after kubectl annotate %s, the webhook has answered no reviews: %v", step.annotate, still)
		}
	}
}

func TestObjectsOptInThemselvesAndAreReviewedOnce(t *testing.T) {
	for sentence, c := range map[string]struct{ namespace, object, want string }{
		"an object in mode enforce, its namespace without one": {"", "enforce", byObject},
		"an object in mode enforce, its namespace in off":      {"off", "enforce", byObject},
		"an object with an unknown mode":                       {"", "enfroce", byObject},
		"an object in mode off, its namespace without one":     {"", "off", ""},
		"an object in mode enforce, its namespace in enforce":  {"enforce", "enforce", byNamespace},
		"an object in mode off, its namespace in enforce":      {"enforce", "off", byNamespace},
	} {
		t.Run(sentence, func(t *testing.T) {
			name := newNamespace(t)
			if c.namespace != "" {
				kubectl(t, "", "annotate", "namespace", name, mode+"="+c.namespace)
			}
			got := play(t, name, ownership.ModeAnnotation+`: "`+c.object+`"`)
			if diff := cmp.Diff(written(c.want), got); diff != "" {
				t.Errorf("the API server's calls (-want +got):\n%s", diff)
			}
		})
	}
}
