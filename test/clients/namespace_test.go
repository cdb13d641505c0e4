package clients_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/test/controlplane/process"
	"github.com/ownership-handoff/handoff/test/objects"
)

// namespace is a namespace of a test, with one Deployment, web.
type namespace struct {
	*testing.T
	name string
	// handoff reports whether handoff is enabled in the namespace.
	handoff bool
	dir     string
}

// newNamespace creates a namespace, in mode enforce or without handoff.
func newNamespace(t *testing.T, handoff bool) *namespace {
	t.Helper()
	mode := ""
	if handoff {
		mode = "enforce"
	}
	return &namespace{T: t, name: objects.NewNamespace(t, suite.api, "clients-", mode), handoff: handoff, dir: t.TempDir()}
}

// manifest is what a client applies: Deployment/web. Replicas may be empty.
type manifest struct{ replicas, image string }

func (m manifest) String() string {
	replicas := ""
	if m.replicas != "" {
		replicas = "\n  replicas: " + m.replicas
	}
	return fmt.Sprintf(strings.TrimSpace(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:%s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      schedulerName: nobody
      containers:
      - name: app
        image: %s
`)+"\n", replicas, m.image)
}

// run runs a program with a manifest as its standard input, and returns its output.
func (n *namespace) run(stdin, program string, args ...string) (string, error) {
	n.Helper()
	r := process.Run(n.Context(), []string{
		"HELM_CONFIG_HOME=" + n.dir, "HELM_CACHE_HOME=" + n.dir, "HELM_DATA_HOME=" + n.dir, "HOME=" + n.dir, "KUBECONFIG=" + suite.cluster.Plane.Kubeconfig,
	}, stdin, program, args...)
	n.Logf("%s %s: %v\n%s%s", filepath.Base(program), strings.Join(args, " "), r.Err, r.Stdout, r.Stderr)
	if r.Err != nil {
		return r.Stdout, fmt.Errorf("%w\n%s", r.Err, r.Stdout)
	}
	return r.Stdout, nil
}

// kubectl runs a command that must succeed, and returns its output.
func (n *namespace) kubectl(stdin string, args ...string) string {
	n.Helper()
	out, err := n.run(stdin, suite.cluster.Plane.Kubectl, append([]string{"--namespace", n.name}, args...)...)
	expect.NoError(n, err)
	return out
}

// write writes a file of this test, and returns its path.
func (n *namespace) write(name, text string) string {
	n.Helper()
	return objects.Write(n.T, text, n.dir, name)
}

// deployment reads Deployment/web.
func (n *namespace) deployment() *appsv1.Deployment {
	n.Helper()
	o := &appsv1.Deployment{}
	expect.NoError(n, suite.api.Get(n.Context(), client.ObjectKey{Namespace: n.name, Name: "web"}, o))
	return o
}

func (n *namespace) replicas() int32 {
	n.Helper()
	return *n.deployment().Spec.Replicas
}

func (n *namespace) image() string {
	n.Helper()
	return n.deployment().Spec.Template.Spec.Containers[0].Image
}

// settled waits until no controller writes Deployment/web any more.
func (n *namespace) settled() {
	n.Helper()
	last, same := "", 0
	n.eventually("the controllers come to rest", func() bool {
		o := n.deployment()
		if o.Status.ObservedGeneration != o.Generation {
			return false
		}
		if o.ResourceVersion != last {
			last, same = o.ResourceVersion, 0
		}
		same++
		return same > 2
	})
}

// autoscale creates HorizontalPodAutoscaler/web, and returns when its controller has scaled Deployment/web to 7 and would leave
// any lower value as it is: a test without handoff can then read what an apply wrote. The value below the maximum proves that
// the controller acts on the final specification.
func (n *namespace) autoscale() {
	n.Helper()
	least := int32(9)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    &least, MaxReplicas: 20,
		},
	}
	expect.NoError(n, suite.api.Create(n.Context(), hpa))
	n.eventually("the HPA controller scales to 9", func() bool { return n.replicas() == 9 })
	n.kubectl("", "patch", "hpa", "web", "-p", `{"spec":{"minReplicas":1,"maxReplicas":7}}`)
	n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
	n.known(true)
}

// known waits until handoff knows whether a scaler targets Deployment/web, which dry runs of server-side apply show.
func (n *namespace) known(want bool) {
	n.Helper()
	if !n.handoff {
		return
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		// A server-side apply of replicas alone is not that of a manifest.
		"metadata": map[string]any{"name": "web", "namespace": n.name, "labels": map[string]any{"probe": "yes"}},
	}}
	n.eventually(fmt.Sprintf("handoff knows of the scaler: %t", want), func() bool {
		return objects.KeepsReplicas(n.T, suite.api, probe) == want
	})
}

// remove deletes an object and waits until it is gone.
func (n *namespace) remove(o client.Object) {
	n.Helper()
	o.SetNamespace(n.name)
	expect.NoError(n, suite.api.Delete(n.Context(), o))
	n.eventually("the object is deleted", func() bool {
		return apierrors.IsNotFound(suite.api.Get(n.Context(), client.ObjectKeyFromObject(o), o))
	})
}

func (n *namespace) eventually(what string, done func() bool) {
	n.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.Fatalf("timed out after %s: %s", patience, what)
		}
	}
}
