package guard_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/ownership"
	"github.com/ownership-handoff/handoff/test/objects"
)

// namespace is the namespace of a test.
type namespace struct {
	*testing.T
	name       string
	apiVersion string
	kind       string // of the object web
}

// newNamespace creates a namespace with the mode annotation, or without it if mode is empty.
func newNamespace(t *testing.T, mode string) *namespace {
	t.Helper()
	name := objects.NewNamespace(t, cluster.client, "guard-", mode)
	return &namespace{T: t, name: name, apiVersion: "apps/v1", kind: "Deployment"}
}

// run runs kubectl, which must succeed, and returns its standard output.
func (n *namespace) run(env []string, stdin string, args ...string) string {
	n.Helper()
	return n.command(cluster.controlPlane.Kubectl, env, stdin, append([]string{"--namespace", n.name}, args...)...)
}

func (n *namespace) command(name string, env []string, stdin string, args ...string) string {
	n.Helper()
	out, stderr, err := n.attempt(name, env, stdin, args...)
	if err != nil {
		n.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr)
	}
	return out
}

func (n *namespace) attempt(name string, env []string, stdin string, args ...string) (stdout, stderr string, err error) {
	n.Helper()
	cmd := exec.CommandContext(n.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	return out.String(), problems.String(), err
}

// replace runs kubectl replace and returns the stored replicas. The command reads and then writes the object. Unlike apply, it
// fails if a controller writes the status in between, and is then run again.
func (n *namespace) replace(manifest string) string {
	n.Helper()
	args := []string{"--namespace", n.name, "replace", "-f-", printReplicas}
	var replicas string
	n.eventually("kubectl replace does not conflict", func() bool {
		out, stderr, err := n.attempt(cluster.controlPlane.Kubectl, nil, manifest, args...)
		if err != nil && !strings.Contains(stderr, "(Conflict)") {
			n.Fatalf("kubectl replace: %v\n%s%s", err, out, stderr)
		}
		replicas = out
		return err == nil
	})
	return replicas
}

// printReplicas makes kubectl print the replicas that a write stores, because the autoscaler may change them soon after.
const printReplicas = "-ojsonpath={.spec.replicas}"

func (n *namespace) kubectl(args ...string) string {
	n.Helper()
	return n.run(nil, "", args...)
}

// apply applies a manifest and returns the stored replicas.
func (n *namespace) apply(manifest string, args ...string) string {
	n.Helper()
	return n.run(nil, manifest, append([]string{"apply", "-f-", printReplicas}, args...)...)
}

// manifest returns a manifest of the object web. If replicas is empty, the manifest does not set it.
func (n *namespace) manifest(replicas, image string) string {
	if replicas != "" {
		replicas = "\n  replicas: " + replicas
	}
	selector := "{matchLabels: {app: web}}"
	switch n.kind {
	case "ReplicationController":
		selector = "{app: web}"
	case "StatefulSet":
		selector += "\n  serviceName: web"
	}
	return fmt.Sprintf(`
apiVersion: %s
kind: %s
metadata:
  name: web
spec:%s
  selector: %s
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "%s", resources: {requests: {cpu: 10m}}}]}
`, n.apiVersion, n.kind, replicas, selector, image)
}

// in adds the mode label to a manifest.
func in(mode, manifest string) string {
	return strings.Replace(manifest, "  name: web\n",
		"  name: web\n  labels: {"+ownership.ModeLabel+": \""+mode+"\"}\n", 1)
}

// scaled creates HorizontalPodAutoscaler/web and waits until its controller has scaled the object web to 7 and the guard is in
// effect.
func (n *namespace) scaled() {
	n.Helper()
	n.kubectl("autoscale", n.kind, "web", "--min=7", "--max=20")
	n.eventually("the HPA controller scales to 7", func() bool { return n.field(".spec.replicas") == "7" })
	n.guarded()
}

// object reads the object web.
func (n *namespace) object() *unstructured.Unstructured {
	n.Helper()
	o, err := cluster.reader.Get(n.Context(), n.name, n.kind, "web")
	if err != nil {
		n.Fatal(err)
	}
	return o
}

// field returns the value at a JSONPath of the object web.
func (n *namespace) field(path string) string {
	n.Helper()
	return objects.JSONPath(n.T, n.object(), path)
}

// guarded waits until the guard keeps replicas. It uses a dry run with the mode label, so that it does not depend on the
// namespace's mode.
func (n *namespace) guarded() {
	n.Helper()
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": n.apiVersion, "kind": n.kind,
		"metadata": map[string]any{
			"name": "web", "namespace": n.name, "labels": map[string]any{ownership.ModeLabel: "enforce"},
		},
	}}
	n.eventually("the guard is in effect", func() bool { return objects.KeepsReplicas(n.T, cluster.client, probe) })
}

func (n *namespace) eventually(what string, done func() bool) {
	n.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.Fatalf("timed out after %s: %s", patience, what)
		}
	}
}
