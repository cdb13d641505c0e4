package e2e_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
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
type result struct {
	stdout, stderr string
	err            error
}

// warnings returns handoff's warnings in the output of kubectl.
func (r result) warnings() []string {
	var found []string
	for line := range strings.Lines(r.stderr) {
		if text, ok := strings.CutPrefix(line, "Warning: handoff: "); ok {
			found = append(found, strings.TrimSpace(text))
		}
	}
	return found
}

// wantWarnings checks handoff's warnings in the output of a command.
func (n *namespace) wantWarnings(r result, want ...string) {
	n.Helper()
	if diff := cmp.Diff(want, r.warnings()); diff != "" {
		n.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func (n *namespace) run(stdin string, args ...string) result {
	n.Helper()
	return n.runAs(nil, stdin, args...)
}

func (n *namespace) runAs(env []string, stdin string, args ...string) result {
	n.Helper()
	ctx := context.WithoutCancel(n.Context()) // which ends before the functions of Cleanup are called
	cmd := exec.CommandContext(ctx, cluster.Plane.Kubectl, append([]string{"--namespace", n.name}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if args[0] != "get" || err != nil {
		n.Logf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return result{stdout: stdout.String(), stderr: stderr.String(), err: err}
}

// kubectl runs a command that must succeed.
func (n *namespace) kubectl(args ...string) result {
	n.Helper()
	return n.must(n.run("", args...))
}

// replace runs kubectl replace, which must succeed. The command reads and then writes the object. Unlike apply, it fails if a
// controller writes the status in between, and is then run again.
func (n *namespace) replace(manifest string) result {
	n.Helper()
	var r result
	n.eventually("kubectl replace does not conflict", func() bool {
		r = n.run(manifest, "replace", "-f", "-")
		return r.err == nil || !strings.Contains(r.stderr, "(Conflict)")
	})
	return n.must(r)
}

// apply applies a manifest, which must succeed.
func (n *namespace) apply(manifest string, args ...string) result {
	n.Helper()
	return n.must(n.run(manifest, append([]string{"apply", "-f", "-"}, args...)...))
}

// appliedBy runs a server-side apply as a controller does. kubectl would migrate the managedFields of client-side applies.
func (n *namespace) appliedBy(manager, manifest string) {
	n.Helper()
	web := &unstructured.Unstructured{}
	if err := web.UnmarshalJSON([]byte(manifest)); err != nil {
		n.Fatal(err)
	}
	web.SetName("web")
	web.SetNamespace(n.name)
	patch := client.RawPatch(types.ApplyPatchType, []byte(manifest))
	if err := cluster.client.Patch(n.Context(), web, patch, client.FieldOwner(manager), client.ForceOwnership); err != nil {
		n.Fatal(err)
	}
}

func (n *namespace) must(r result) result {
	n.Helper()
	if r.err != nil {
		n.Fatalf("%v: %s", r.err, r.stderr)
	}
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
	if err != nil {
		n.Fatal(err)
	}
	return o
}

// replicas returns the scale field of the object web, or -1 if it is not set.
func (n *namespace) replicas() int64 {
	n.Helper()
	replicas, found, err := unstructured.NestedInt64(n.object().Object, "spec", "replicas")
	if err != nil {
		n.Fatal(err)
	}
	if !found {
		return -1
	}
	return replicas
}

func (n *namespace) wantReplicas(want int64) {
	n.Helper()
	if got := n.replicas(); got != want {
		n.Errorf("replicas: got %d, want %d", got, want)
	}
}

// wantLastApplied checks whether last-applied contains a text.
func (n *namespace) wantLastApplied(part string, want bool) {
	n.Helper()
	if text := n.object().GetAnnotations()[ownership.LastAppliedAnnotation]; strings.Contains(text, part) != want {
		n.Errorf("last-applied contains %s: want %v, in %s", part, want, text)
	}
}

// fieldManagers returns the managers of the scale field as MANAGER/OPERATION[/SUBRESOURCE], in order.
func (n *namespace) fieldManagers() []string {
	n.Helper()
	return fieldManagers(n.T, n.object(), fieldpath.MakePathOrDie("spec", "replicas"))
}

func fieldManagers(t *testing.T, o *unstructured.Unstructured, path fieldpath.Path) []string {
	t.Helper()
	var found []string
	for _, e := range o.GetManagedFields() {
		var set fieldpath.Set
		if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
			t.Fatal(err)
		}
		if set.Has(path) {
			found = append(found, strings.TrimSuffix(e.Manager+"/"+string(e.Operation)+"/"+e.Subresource, "/"))
		}
	}
	slices.Sort(found)
	return found
}

func (n *namespace) wantManagers(want ...string) {
	n.Helper()
	if got := n.fieldManagers(); !slices.Equal(got, want) {
		n.Errorf("managers of .spec.replicas: got %v, want %v", got, want)
	}
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
	path := filepath.Join(n.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.Fatal(err)
	}
	return path
}

// field reads a field of an object.
func field(o *unstructured.Unstructured, names ...string) (any, bool) {
	value, found, err := unstructured.NestedFieldNoCopy(o.Object, names...)
	return value, found && err == nil
}
