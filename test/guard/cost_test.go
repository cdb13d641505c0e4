package guard_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestTheCostDoesNotGrowWithTheAutoscalersOfTheNamespace compares a kept write in a namespace with one autoscaler with the same
// write in a namespace with 256, alternately. A policy with the autoscalers as parameters takes more than ten times as long.
func TestTheCostDoesNotGrowWithTheAutoscalersOfTheNamespace(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	const many, writes, bound = 256, 60, 3
	spaces := [2]*namespace{newNamespace(t, "enforce"), newNamespace(t, "enforce")}
	var times [2][]time.Duration
	for i, n := range spaces {
		n.apply(n.manifest("3", "app:1"))
		n.scaled()
		for j := 1; j < many*i; j++ {
			n.autoscaler(fmt.Sprintf("other-%d", j))
		}
	}
	for range writes {
		for i, n := range spaces {
			start := time.Now()
			if got := n.dryRun(`{"spec":{"replicas":3}}`); got != 7 {
				t.Fatalf("replicas: got %d, want 7", got)
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	one, all := median(times[0]), median(times[1])
	if ratio := float64(all) / float64(one); ratio > bound {
		t.Errorf("a write takes %s with one autoscaler and %s with %d: %.1f times as long, want at most %d", one, all, many, ratio, bound)
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// autoscaler creates a HorizontalPodAutoscaler whose target does not exist.
func (n *namespace) autoscaler(name string) {
	n.Helper()
	err := cluster.client.Create(n.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: n.name, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: 20, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
		},
	})
	if err != nil {
		n.Fatal(err)
	}
}

// dryRun sends a patch of the object web as kubectl apply does, without storing the result, and returns the replicas.
func (n *namespace) dryRun(patch string) int64 {
	n.Helper()
	web := &unstructured.Unstructured{}
	web.SetAPIVersion(n.apiVersion)
	web.SetKind(n.kind)
	web.SetNamespace(n.name)
	web.SetName("web")
	raw := client.RawPatch(types.StrategicMergePatchType, []byte(patch))
	if err := cluster.client.Patch(n.Context(), web, raw, client.DryRunAll, client.FieldOwner("kubectl-client-side-apply")); err != nil {
		n.Fatal(err)
	}
	replicas, _, _ := unstructured.NestedInt64(web.Object, "spec", "replicas")
	return replicas
}

// TestManyFieldManagersDoNotExceedTheCostLimit verifies that the guard acts on an object with 50 managedFields entries: the API
// server limits the cost of expressions, and would otherwise ignore the policy.
func TestManyFieldManagersDoNotExceedTheCostLimit(t *testing.T) {
	cluster.controlPlane.NeedMutatingPolicies(t)
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(n.manifest("3", "app:1"))
	for i := range 50 {
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": n.apiVersion, "kind": n.kind, "metadata": map[string]any{
				"name": "web", "namespace": n.name, "annotations": map[string]any{"example.com/" + strconv.Itoa(i): "x"},
			},
		}}
		//nolint:staticcheck // the object is unstructured
		if err := cluster.client.Patch(t.Context(), o, client.Apply, client.FieldOwner("manager-"+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	n.scaled()
	if got := len(n.object().GetManagedFields()); got < 50 {
		t.Fatalf("managedFields entries: got %d, want at least 50", got)
	}
	for range 2 {
		if got := n.apply(n.manifest("3", "app:1")); got != "7" {
			t.Errorf("replicas: got %s, want 7", got)
		}
	}
	if got := n.apply(n.manifest("", "app:1")); got != "7" {
		t.Errorf("replicas after the manifest dropped them: got %s, want 7", got)
	}
}
