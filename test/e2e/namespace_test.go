package e2e_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/test/objects"
)

// namespace is the namespace of a test.
type namespace struct {
	*testing.T
	name string
	kind string // of the object web, in the syntax of kubectl
}

// newNamespace creates a namespace with the mode annotation, or without it if mode is empty.
func newNamespace(t *testing.T, mode string) *namespace {
	t.Helper()
	return &namespace{T: t, name: objects.NewNamespace(t, cluster.client, "e2e-", mode), kind: "deployment"}
}

// newAutoscaled creates a namespace in mode enforce, with a Deployment that was applied with three replicas and that an autoscaler
// has scaled to 7. The arguments are those of the apply.
func newAutoscaled(t *testing.T, args ...string) *namespace {
	t.Helper()
	n := newNamespace(t, "enforce")
	n.apply(deployment("3", "app:1"), args...)
	n.autoscale("7")
	return n
}

// result is the output of a command.
type result = process.Result

func (n *namespace) run(stdin string, args ...string) result {
	n.Helper()
	return n.runAs(nil, stdin, args...)
}

func (n *namespace) runAs(env []string, stdin string, args ...string) result {
	n.Helper()
	ctx := context.WithoutCancel(n.Context()) // which ends before the functions of Cleanup are called
	r := process.Run(ctx, env, stdin, cluster.Plane.Kubectl, append([]string{"--namespace", n.name}, args...)...)
	if args[0] != "get" || r.Err != nil {
		n.Logf("kubectl %s: %v\n%s%s", strings.Join(args, " "), r.Err, r.Stdout, r.Stderr)
	}
	return r
}

// kubectl runs a command that must succeed.
func (n *namespace) kubectl(args ...string) result {
	n.Helper()
	return n.must(n.run("", args...))
}

// replace runs kubectl replace, which must succeed. The command reads and then writes the object. Unlike apply, it fails if a
// controller writes the status in between, and is then run again.
func (n *namespace) replace(manifest string, args ...string) result {
	n.Helper()
	var r result
	n.eventually("kubectl replace does not conflict", func() bool {
		r = n.run(manifest, append([]string{"replace", "-f", "-"}, args...)...)
		return r.Err == nil || !strings.Contains(r.Stderr, "(Conflict)")
	})
	return n.must(r)
}

// apply applies a manifest, which must succeed.
func (n *namespace) apply(manifest string, args ...string) result {
	n.Helper()
	return n.must(n.run(manifest, append([]string{"apply", "-f", "-"}, args...)...))
}

// appliedBy runs a server-side apply as a controller does, of the object web if the manifest has no name. kubectl would migrate the
// managedFields of client-side applies.
func (n *namespace) appliedBy(manager, manifest string) {
	n.Helper()
	o := decoded(n, manifest)
	o.SetName(cmp.Or(o.GetName(), "web"))
	_, err := n.patchedAs(manager, o, types.ApplyPatchType, []byte(manifest), client.ForceOwnership)
	expect.NoError(n, err)
}

func (n *namespace) must(r result) result {
	n.Helper()
	expect.NoError(n, r.Err)
	return r
}

// object reads the object web.
func (n *namespace) object() *unstructured.Unstructured {
	n.Helper()
	return n.objectOf(n.kind)
}

// objectOf reads the object web of a kind.
func (n *namespace) objectOf(kind string) *unstructured.Unstructured {
	n.Helper()
	o, err := cluster.reader.Get(context.WithoutCancel(n.Context()), n.name, kind, "web")
	expect.NoError(n, err)
	return o
}

// jsonpath reads a field of the object web.
func (n *namespace) jsonpath(path string) string {
	n.Helper()
	return objects.JSONPath(n.T, n.object(), path)
}

func (n *namespace) replicas() int64 {
	n.Helper()
	return replicasOf(n, n.object())
}

func (n *namespace) wantReplicas(want int64) {
	n.Helper()
	expect.Equal(n, "replicas", want, n.replicas())
}

// autoscale creates HorizontalPodAutoscaler/web and waits until its controller has scaled the object web to the minimum.
func (n *namespace) autoscale(minimum string) {
	n.Helper()
	n.kubectl("autoscale", n.kind, "web", "--min="+minimum, "--max=20")
	n.eventually("the HPA controller scales to "+minimum, func() bool { return n.jsonpath(".spec.replicas") == minimum })
	n.known(true)
}

// known waits until handoff's informers know whether an autoscaler targets the object web, which it finds out with dry runs of
// server-side applies.
func (n *namespace) known(want bool) {
	n.Helper()
	probe := n.object()
	probe.SetManagedFields(nil)
	probe.SetResourceVersion("")
	delete(probe.Object, "status")
	n.eventually("handoff knows of the autoscaler", func() bool {
		return objects.KeepsReplicas(n.T, cluster.client, probe) == want
	})
}

func (n *namespace) eventually(what string, done func() bool) {
	n.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.Fatalf("timed out after %s: %s\nwebhook: %s", patience, what, tail(cluster.Webhook.Log()))
		}
	}
}

func tail(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// file writes a file of this test and returns its path.
func (n *namespace) file(name, text string) string {
	n.Helper()
	return objects.Write(n.T, text, n.TempDir(), name)
}

// field reads a field of an object.
func field(o *unstructured.Unstructured, names ...string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, names...)
	return value, found && err == nil
}
