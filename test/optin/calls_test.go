package optin_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
)

// manifest returns a Deployment and a Secret that change with each generation.
func manifest(generation int, labels string) string {
	return strings.NewReplacer("GENERATION", strconv.Itoa(generation), "LABELS", labels).Replace(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {LABELS}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:GENERATION"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: web, labels: {LABELS}}
stringData: {password: "GENERATION"}
`)
}

// playCounted also returns for how many of the writes the API server has evaluated match conditions of handoff. To do so, it converts the
// object, which takes longer the larger it is.
func playCounted(t *testing.T, namespace, labels string) []string {
	t.Helper()
	evaluated := -excluded(t, byNamespace, byObject)
	lines := play(t, namespace, labels)
	for _, line := range lines {
		if !strings.HasSuffix(line, ": ") {
			evaluated++ // and all conditions were true
		}
	}
	return append(lines, fmt.Sprintf("conditions evaluated for %d", evaluated+excluded(t, byNamespace, byObject)))
}

// play creates and updates objects in a namespace, and returns what the audit log says of these writes.
func play(t *testing.T, namespace, labels string) []string {
	t.Helper()
	kubectl(t, "", "delete", "deployment,secret", "web", "-n", namespace, "--ignore-not-found")
	offset := auditOffset(t)
	kubectl(t, manifest(1, labels), "apply", "-n", namespace, "-f-")
	kubectl(t, manifest(2, labels), "apply", "-n", namespace, "-f-")
	for _, kind := range []string{"deployment", "secret"} {
		kubectl(t, "", "patch", kind, "web", "-n", namespace, "--type=merge", "-p", `{"metadata":{"labels":{"team":"web"}}}`)
	}
	kubectl(t, "", "scale", "deployment", "web", "--replicas=4", "-n", namespace)
	return audited(t, offset, namespace)
}

// written is what play returns if the API server calls a webhook for it, and counted what playCounted returns: the conditions of all writes
// but that of the scale.
func written(called string) []string {
	return []string{
		"create deployments: " + called, "create secrets: ", "patch deployments: " + called, "patch secrets: " + called,
		"patch deployments: " + called, "patch secrets: " + called, "patch deployments: ",
	}
}

func counted(called string) []string {
	return append(written(called), map[bool]string{true: "conditions evaluated for 0", false: "conditions evaluated for 6"}[called == ""])
}

const (
	byNamespace = "webhook.ownership-handoff.io"
	byObject    = "objects.ownership-handoff.io"
)

// TestCreationsAreSentWhoseManifestIsEditedLater is about kinds without a scale, of which packs name fields.
func TestCreationsAreSentWhoseManifestIsEditedLater(t *testing.T) {
	name := newNamespace(t, "enforce")
	const pod = `"spec":{"restartPolicy":"%s","containers":[{"name":"a","image":"registry.invalid/a"}]}`
	job := `{"template":{` + fmt.Sprintf(pod, "Never") + `}}`
	offset := auditOffset(t)
	for _, manifest := range []string{
		`"apps/v1","kind":"DaemonSet","spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + fmt.Sprintf(pod, "Always") + `}}`,
		`"batch/v1","kind":"CronJob","spec":{"schedule":"0 5 1 1 *","jobTemplate":{"spec":` + job + `}}`,
		`"batch/v1","kind":"Job","spec":` + job,
		`"autoscaling/v2","kind":"HorizontalPodAutoscaler","spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}`,
	} {
		kubectl(t, `{"metadata":{"name":"web"},"apiVersion":`+manifest+`}`, "apply", "--server-side", "-n", name, "-f-")
	}
	want := []string{"patch daemonsets: " + byNamespace, "patch cronjobs: " + byNamespace, "patch jobs: ", "patch horizontalpodautoscalers: " + byNamespace}
	expect.Equal(t, "the API server's calls", want, audited(t, offset, name))
}

// TestNamespacesAreCalledForOnlyWhileTheyHaveOptedIn reads the API server's own record of the calls.
func TestNamespacesAreCalledForOnlyWhileTheyHaveOptedIn(t *testing.T) {
	name := newNamespace(t, "")
	for _, step := range []struct{ annotate, want string }{
		{"team=web", ""}, // before it opts in
		{mode + "=enforce", byNamespace},
		{mode + "=warn", byNamespace},
		{mode + "=off", ""},
		{mode + "=enfroce", byNamespace}, // counts as warn
		{mode + "-", ""},
	} {
		kubectl(t, "", "annotate", "--overwrite", "namespace", name, step.annotate)
		before := metrics(t, "handoff_reviews_total")
		expect.Equal(t, "after kubectl annotate "+step.annotate+", the API server's calls", counted(step.want), playCounted(t, name, ""))
		kubectl(t, "", "label", "namespace", name, "step=x", "--overwrite") // a write of the namespace itself
		if still := cmp.Equal(before, metrics(t, "handoff_reviews_total")); still != (step.want == "") {
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
		"an object in mode off, its namespace in enforce":      {"enforce", "off", ""},
		"an object in mode warn, its namespace in enforce":     {"enforce", "warn", byNamespace},
	} {
		t.Run(sentence, func(t *testing.T) {
			name := newNamespace(t, c.namespace)
			got := playCounted(t, name, optin.Label+`: "`+c.object+`"`)
			expect.Equal(t, "the API server's calls", counted(c.want), got)
		})
	}
}

// TestTheAPIServerCallsForEitherLabel changes the label of an object: the API server compares the old and the new object.
func TestTheAPIServerCallsForEitherLabel(t *testing.T) {
	for sentence, c := range map[string]struct{ namespace, from, to, want string }{
		"it opts in":             {"", "", "=enforce", byObject},
		"it opts out":            {"", "=enforce", "=off", byObject},
		"it loses its label":     {"", "=enforce", "-", byObject},
		"it loses the label off": {"", "=off", "-", ""},
		"from off to warn":       {"", "=off", "=warn", byObject},
		"from off to enforce, namespace in enforce":  {"enforce", "=off", "=enforce", byNamespace},
		"from off to nothing, namespace in enforce":  {"enforce", "=off", "-", byNamespace},
		"from enforce to off, namespace in enforce":  {"enforce", "=enforce", "=off", byNamespace},
		"an annotation does not opt in":              {"", "", "annotate", ""},
		"an annotation does not opt out":             {"enforce", "", "annotate", byNamespace},
		"another label, namespace in off and object": {"off", "=off", "team=web", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			name := newNamespace(t, c.namespace)
			kubectl(t, manifest(1, ""), "apply", "-n", name, "-f-")
			write := func(to string) {
				switch {
				case to == "annotate":
					kubectl(t, "", "annotate", "deployment", "web", "-n", name, mode+"=off")
				case strings.HasPrefix(to, "team"):
					kubectl(t, "", "label", "deployment", "web", "-n", name, to)
				case to != "":
					kubectl(t, "", "label", "--overwrite", "deployment", "web", "-n", name, optin.Label+to)
				}
			}
			write(c.from)
			offset := auditOffset(t)
			write(c.to)
			expect.Equal(t, "the API server's calls", []string{"patch deployments: " + c.want}, audited(t, offset, name))
		})
	}
}

// TestCopiedLabelsAreHarmless writes the objects to which controllers copy the labels of a Service. The API server calls for none
// of them.
func TestCopiedLabelsAreHarmless(t *testing.T) {
	name := newNamespace(t, "")
	const copies = `
apiVersion: v1
kind: Endpoints
metadata: {name: web, labels: {ownership-handoff.io/mode: enforce}}
subsets: [{addresses: [{ip: 10.0.0.NUMBER}], ports: [{port: 80}]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web, labels: {ownership-handoff.io/mode: enforce}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.NUMBER]}]
`
	offset := auditOffset(t)
	for _, number := range []string{"1", "2"} {
		kubectl(t, strings.ReplaceAll(copies, "NUMBER", number), "apply", "-n", name, "-f-")
	}
	want := []string{"create endpoints: ", "create endpointslices: ", "patch endpoints: ", "patch endpointslices: "}
	expect.Equal(t, "the API server's calls", want, audited(t, offset, name))
}

// excluded returns how many writes the API server has excluded by match conditions of webhooks.
func excluded(t *testing.T, webhooks ...string) int {
	t.Helper()
	return apiServerMetric(t, "apiserver_admission_match_condition_evaluation_seconds_count", webhooks...)
}

// apiServerMetric returns the sum of a metric of the API server over the series of webhooks.
func apiServerMetric(t *testing.T, name string, webhooks ...string) int {
	t.Helper()
	return int(handofftest.Sum(kubectl(t, "", "get", "--raw", "/metrics").Stdout, name, webhooks...))
}
