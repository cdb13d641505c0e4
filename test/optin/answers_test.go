package optin_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/optin"
	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/plugin/installation"
	handofftest "github.com/ownership-handoff/handoff/test/handoff"
	"github.com/ownership-handoff/handoff/test/objects"
)

const (
	configurations = "mutatingwebhookconfigurations"
	appliedWeb     = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3%s}}`
)

// cell is a namespace and an object in it: the mode that each has, and whether the API server selects the namespace.
type cell struct {
	namespace, mode, label, system, object string
}

// TestTheAnswerIsWhatTheAPIServerDoes compares what the plugin says about objects with what an apply then does, for all combinations
// of modes and labels of namespaces and objects, and for each way to install handoff.
func TestTheAnswerIsWhatTheAPIServerDoes(t *testing.T) {
	unlabeled := []string{"--label-namespaces=false"}
	install(t, handofftest.Options{Args: unlabeled})
	defer install(t, handofftest.Options{})
	configuration := strings.Fields(kubectl(t, "", "get", configurations, "-o", "name").Stdout)[0]
	patch := func(operations string) { kubectl(t, "", "patch", configuration, "--type=json", "-p", operations) }
	patch(`[{"op": "test", "path": "/webhooks/2/name", "value": "namespaces.ownership-handoff.io"}, {"op": "remove", "path": "/webhooks/2"}]`)
	eventually(t, "the API server labels no namespace", func() bool {
		r := kubectl(t, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "answers-", "annotations": {"`+mode+`": "enforce"}}}`,
			"create", "--dry-run=server", "-f-", "-o", "json")
		return label(namespaceIn(t, r)) == "none"
	})
	cells := createCells(t)
	defer func() { // the webhook cannot label those with the label of the system
		for _, c := range cells {
			if c.system != "" && c.object == "" {
				kubectl(t, "", "annotate", "namespace", c.namespace, mode+"-")
				kubectl(t, "", "label", "namespace", c.namespace, optin.Label+"-")
			}
		}
	}()
	t.Run("the default", func(t *testing.T) { compare(t, cells) })
	patch(`[{"op": "replace", "path": "/webhooks/0/rules/0/resources", "value": ["statefulsets"]}]`)
	t.Run("explicit rules for other kinds in the first entry", func(t *testing.T) { compare(t, cells) })
	install(t, handofftest.Options{Args: unlabeled, Manifests: allNamespaces(t)})
	t.Run("all namespaces", func(t *testing.T) {
		compare(t, cells)
		expect.Equal(t, "the API server's calls", written(byNamespace), play(t, newNamespace(t, ""), ""))
		expect.Equal(t, "the metric of labels", "", metric(t, "handoff_stale_namespace_labels"))
	})
	t.Run("not at all", func(t *testing.T) {
		unregister(t)
		compare(t, cells)
	})
}

// allNamespaces returns a kustomization with manifests/components/all-namespaces.
func allNamespaces(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	manifests, err := filepath.Rel(dir, filepath.Join(cluster.root, "manifests"))
	expect.NoError(t, err)
	text := "resources: [" + manifests + "/base]\ncomponents: [" + manifests + "/components/all-namespaces]\n"
	objects.Write(t, text, dir, "kustomization.yaml")
	return dir
}

const (
	namespaceOfCells = `
---
apiVersion: v1
kind: Namespace
metadata: {name: %s, annotations: {%s}, labels: {%s}}
`
	// objectOfCell is a Deployment that an autoscaler has scaled to 7, and whose manifest says 3.
	objectOfCell = `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: %[1]q, namespace: %[2]q}
spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]q}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]q, namespace: %[2]q, labels: {%[3]s}, annotations: {%[4]s: %[5]q}}
spec: {replicas: 7, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}}
`
)

// createCells creates a namespace for each combination of mode, label and the system label, and an object of each mode in it.
func createCells(t *testing.T) (cells []cell) {
	t.Helper()
	line := func(name, value string) string {
		if value == "" {
			return ""
		}
		return name + ": " + strconv.Quote(value)
	}
	var manifest strings.Builder
	for _, modeOf := range []string{"", "off", "warn", "enforce", "enforced"} {
		for _, labeled := range []string{"", "follows"} {
			for _, system := range []string{"", "true"} {
				value, has := optin.NamespaceLabel(modeOf, modeOf != "")
				if !has || labeled == "" {
					value = ""
				}
				namespace := fmt.Sprintf("answers-%d", len(cells))
				fmt.Fprintf(&manifest, namespaceOfCells, namespace, line(mode, modeOf), strings.Trim(line(mode, value)+", "+line("ownership-handoff.io/system", system), ", "))
				for _, object := range []string{"", "off", "warn", "enforce", "enforced"} {
					c := cell{namespace, modeOf, labeled, system, object}
					fmt.Fprintf(&manifest, objectOfCell, c.name(), namespace, line(mode, object), ownership.LastAppliedAnnotation, fmt.Sprintf(appliedWeb, ""))
					cells = append(cells, c)
				}
			}
		}
	}
	kubectl(t, manifest.String(), "create", "--field-manager=test", "-f-")
	return cells
}

func (c cell) name() string { return "web-" + c.object + "x" }

// compare compares the answers with dry runs of applies. The API server and the webhook notice changes late.
func compare(t *testing.T, cells []cell) {
	t.Helper()
	var wrong []string
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Second) {
		in, err := installation.Of(t.Context(), cluster.plane.Config)
		expect.NoError(t, err)
		wrong = nil
		for _, c := range cells {
			var labels map[string]string
			if c.object != "" {
				labels = map[string]string{mode: c.object}
			}
			said := in.Mode(t.Context(), installation.Object{
				Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Namespace: c.namespace, Labels: labels,
			})
			if did := modeOf(t, c); did != said.Mode {
				wrong = append(wrong, fmt.Sprintf("%+v: the plugin says %s (%s), and the API server does as in mode %s", c, said.Mode, said.Why, did))
			}
		}
		if len(wrong) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d:\n%s", len(wrong), len(cells), strings.Join(wrong, "\n"))
		}
	}
}

// modeOf applies another manifest that still says 3, as a dry run, and returns the mode that the result shows.
func modeOf(t *testing.T, c cell) optin.Mode {
	t.Helper()
	config := rest.CopyConfig(cluster.plane.Config)
	config.WarningHandlerWithContext = objects.Warnings{}
	client, err := dynamic.NewForConfig(config)
	expect.NoError(t, err)
	var seen []string
	ctx := objects.WithWarnings(context.Background(), &seen)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"replicas":3,"paused":true}}`,
		ownership.LastAppliedAnnotation, fmt.Sprintf(appliedWeb, `,"paused":true`))
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	o, err := client.Resource(deployments).Namespace(c.namespace).Patch(ctx, c.name(), types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "kubectl-client-side-apply", DryRun: []string{metav1.DryRunAll}})
	expect.NoError(t, err)
	replicas, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	switch {
	case err != nil:
		t.Fatal(err)
	case replicas == 7:
		return optin.Enforce
	case slices.ContainsFunc(seen, func(text string) bool { return strings.HasPrefix(text, "handoff: ") }):
		return optin.Warn
	}
	return optin.Off
}
