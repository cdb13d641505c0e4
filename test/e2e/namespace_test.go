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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/ownership"
)

// namespace is one test's own.
type namespace struct {
	*testing.T
	name string
	kind string // what object reads, as kubectl writes it
	// silent says that nothing but the commands of the test may reach the API server, not even what foretells them.
	silent bool
}

// newNamespace makes a namespace in a mode; an empty mode leaves it without the annotation.
func newNamespace(t *testing.T, mode string) *namespace {
	t.Helper()
	o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	if mode != "" {
		o.Annotations = map[string]string{ownership.ModeAnnotation: mode}
	}
	if err := cluster.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.client.Delete(context.Background(), o) })
	return &namespace{T: t, name: o.Name, kind: "deployment"}
}

// result is what a command said.
type result struct {
	stdout, stderr string
	err            error
}

// warnings are the lines that kubectl prints for warnings of handoff.
func (r result) warnings() []string {
	var found []string
	for line := range strings.Lines(r.stderr) {
		if text, ok := strings.CutPrefix(line, "Warning: handoff: "); ok {
			found = append(found, strings.TrimSpace(text))
		}
	}
	return found
}

func (n *namespace) run(stdin string, args ...string) result {
	n.Helper()
	return n.runAs(nil, stdin, args...)
}

func (n *namespace) runAs(env []string, stdin string, args ...string) result {
	n.Helper()
	foretold := n.foretell(stdin, args)
	cmd := exec.CommandContext(n.Context(), cluster.Plane.Kubectl, append([]string{"--namespace", n.name}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if args[0] != "get" || err != nil {
		n.Logf("kubectl %s: %v\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	r := result{stdout: stdout.String(), stderr: stderr.String(), err: err}
	if foretold != nil {
		foretold.check(r, args)
	}
	return r
}

// kubectl runs a command that must succeed.
func (n *namespace) kubectl(args ...string) result {
	n.Helper()
	return n.must(n.run("", args...))
}

// replace replaces an object, which must succeed. The command reads the object's version and writes, and unlike apply it
// gives up where a controller has written the status between the two: then it runs again.
func (n *namespace) replace(manifest string) result {
	n.Helper()
	var r result
	n.eventually("kubectl replace meets no other writer", func() bool {
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
	o := &unstructured.Unstructured{}
	out := n.kubectl("get", n.kind, "web", "-o", "json", "--show-managed-fields")
	if err := o.UnmarshalJSON([]byte(out.stdout)); err != nil {
		n.Fatal(err)
	}
	return o
}

// replicas is the scale field of the object web; -1 where it has none.
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

// lastApplied is the last-applied annotation of the object web.
func (n *namespace) lastApplied() string {
	n.Helper()
	return n.object().GetAnnotations()[ownership.LastAppliedAnnotation]
}

// wantLastApplied says whether last-applied may hold a text.
func (n *namespace) wantLastApplied(part string, want bool) {
	n.Helper()
	if text := n.lastApplied(); strings.Contains(text, part) != want {
		n.Errorf("last-applied holds %s: want %v, in %s", part, want, text)
	}
}

// holders are the managedFields entries that claim the scale field, as MANAGER/OPERATION[/SUBRESOURCE], in order.
func (n *namespace) holders() []string {
	n.Helper()
	return holders(n.T, n.object(), fieldpath.MakePathOrDie("spec", "replicas"))
}

func holders(t *testing.T, o *unstructured.Unstructured, path fieldpath.Path) []string {
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

func (n *namespace) wantHolders(want ...string) {
	n.Helper()
	if got := n.holders(); !slices.Equal(got, want) {
		n.Errorf("managers of .spec.replicas: got %v, want %v", got, want)
	}
}

// autoscale makes the HorizontalPodAutoscaler/web and waits until its controller has scaled the object web to min.
func (n *namespace) autoscale(minimum string) {
	n.Helper()
	n.kubectl("autoscale", n.kind, "web", "--min="+minimum, "--max=20")
	n.eventually("the HPA controller scales to "+minimum, func() bool {
		out := n.kubectl("get", n.kind, "web", "-o", "jsonpath={.spec.replicas}")
		return out.stdout == minimum
	})
	n.known(true)
}

// known waits until handoff's informers know whether an autoscaler targets the object web. A dry run of a server-side
// apply asks: it changes nothing.
func (n *namespace) known(want bool) {
	n.Helper()
	probe := n.object()
	probe.SetManagedFields(nil)
	probe.SetResourceVersion("")
	_ = unstructured.SetNestedField(probe.Object, int64(19), "spec", "replicas")
	delete(probe.Object, "status")
	n.eventually("handoff knows of the autoscaler", func() bool {
		tried := &unstructured.Unstructured{Object: probe.DeepCopy().Object}
		//nolint:staticcheck // the object is unstructured
		err := cluster.client.Patch(n.Context(), tried, client.Apply, client.FieldOwner("probe"), client.ForceOwnership, client.DryRunAll)
		if err != nil {
			n.Fatal(err)
		}
		replicas, _, _ := unstructured.NestedInt64(tried.Object, "spec", "replicas")
		return (replicas != 19) == want
	})
}

func (n *namespace) eventually(what string, done func() bool) {
	n.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.Fatalf("waited %s in vain: %s\nwebhook: %s", patience, what, tail(cluster.Webhook.Log()))
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
