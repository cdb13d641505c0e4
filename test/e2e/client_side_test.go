package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ownership-handoff/handoff/test/objects"
)

func TestRow1KeepsReplicasThatTheManifestSets(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "7")
	n.wantManagers("kube-controller-manager/Update/scale")

	r := n.apply(deployment("3", "app:1"))
	n.wantWarnings(r, keptReplicas(7, "HorizontalPodAutoscaler/web")...)
	n.wantReplicas(7)
	n.wantManagers("kube-controller-manager/Update/scale")
	n.wantLastApplied("replicas", false)

	n.unchangedBy("a second unchanged apply", func() { n.apply(deployment("3", "app:1")) })

	n.apply(deployment("3", "app:2"))
	n.wantReplicas(7)
	n.wantManagers("kube-controller-manager/Update/scale")
	n.wantLastApplied("app:2", true)
	n.wantLastApplied("replicas", false)
	n.unchangedBy("an unchanged apply after another change", func() { n.apply(deployment("3", "app:2")) })
}

// unchangedBy verifies that a write changes nothing in the object web, not even its resourceVersion. If only the status has
// changed in the meantime, the resourceVersion proves nothing, and it tries again.
func (n *namespace) unchangedBy(what string, write func()) {
	n.Helper()
	for try := 1; ; try++ {
		n.settled()
		before := n.object()
		write()
		after := n.object()
		diff := cmp.Diff(before.Object, after.Object)
		if diff == "" {
			return
		}
		reported := !cmp.Equal(before.Object["status"], after.Object["status"]) || !cmp.Equal(reports(before), reports(after))
		if try == 5 || !reported || !cmp.Equal(withoutReports(before), withoutReports(after)) {
			n.Errorf("%s changed the object (-before +after):\n%s", what, diff)
			return
		}
	}
}

// reports returns the managedFields entries of the status, which also contain times.
func reports(o *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "status" })
}

// withoutReports returns the object without what the Deployment controller writes with the status, the revision included.
func withoutReports(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetManagedFields(slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" }))
	unstructured.RemoveNestedField(o.Object, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	delete(o.Object, "status")
	return o.Object
}

// settled waits until the controllers have stopped writing the status.
func (n *namespace) settled() {
	n.Helper()
	last, same := "", 0
	n.eventually("the controllers come to rest", func() bool {
		o := n.object()
		if observed, reports := field(o, "status", "observedGeneration"); reports && observed != o.GetGeneration() {
			return false
		}
		if version := o.GetResourceVersion(); version != last {
			last, same = version, 0
		}
		same++
		return same > 2
	})
}

func TestRow2KeepsReplicasRemovedFromTheManifest(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "7")
	r := n.apply(deployment("", "app:1"))
	n.wantWarnings(r, "kept .spec.replicas=7, owned by HorizontalPodAutoscaler/web; no action needed")
	n.wantReplicas(7)
	n.wantManagers("kube-controller-manager/Update/scale")
	n.wantLastApplied("replicas", false)
	n.unchangedBy("a second unchanged apply", func() {
		n.wantWarnings(n.apply(deployment("", "app:1")))
	})
}

func TestAnAutoscalerThatNeverScaledOwnsReplicas(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "3")
	n.wantManagers("kubectl-client-side-apply/Update")

	n.apply(deployment("5", "app:1"))
	n.wantReplicas(3)
	n.wantManagers("kubectl-client-side-apply/Update") // as in live
	n.wantLastApplied("replicas", false)
	n.kubectl("annotate", "deployment", "web", "some=body") // another entry, after which the applier's must not move
	n.unchangedBy("a second unchanged apply", func() { n.apply(deployment("5", "app:1")) })

	n.apply(deployment("", "app:2"))
	n.wantReplicas(3)
}

// KEDA names its HorizontalPodAutoscaler after the ScaledObject, and scales to zero and back by itself.
func TestAnAutoscalerCreatedByKEDA(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(deployment("3", "app:1"))
	n.apply(objects.KEDAAutoscaler, "--server-side", "--field-manager=keda")
	n.eventually("the HPA controller scales to 7", func() bool { return n.replicas() == 7 })
	n.known(true)
	r := n.apply(deployment("3", "app:2"))
	n.wantWarnings(r, keptReplicas(7, "HorizontalPodAutoscaler/keda-hpa-web")...)
	n.wantReplicas(7)

	n.kubectl("scale", "deployment", "web", "--replicas=0") // as KEDA does without load
	n.apply(deployment("3", "app:1"))
	n.wantReplicas(0)
}

func TestRow3KeepsReplicasSetImperatively(t *testing.T) {
	t.Parallel()
	for name, set := range map[string][]string{
		"kubectl scale": {"scale", "deployment", "web", "--replicas=5"},
		"kubectl patch": {"patch", "deployment", "web", "-p", `{"spec":{"replicas":5}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t, "enforce")
			n.apply(deployment("3", "app:1"))
			n.kubectl(set...)
			before := n.fieldManagers()
			r := n.apply(deployment("", "app:1"))
			if len(r.warnings()) != 1 || !strings.Contains(r.stderr, "kept .spec.replicas=5, set by kubectl") {
				t.Errorf("warnings: %q", r.stderr)
			}
			n.wantReplicas(5)
			n.wantManagers(before...)
			n.unchangedBy("a second unchanged apply", func() { n.apply(deployment("", "app:1")) })
		})
	}
}

func TestRow4KeepsReplicasRemovedFromTheManifest(t *testing.T) {
	t.Parallel()
	n := newNamespace(t, "enforce")
	n.apply(deployment("3", "app:1"))
	r := n.apply(deployment("", "app:1"))
	n.wantWarnings(r, "kept .spec.replicas=3, no longer in the manifest; use an HPA or kubectl scale")
	n.wantReplicas(3)
	n.wantLastApplied("replicas", false)
	n.unchangedBy("a second unchanged apply", func() { n.apply(deployment("", "app:1")) })
}

func TestRow5DeletesOtherFieldsRemovedFromTheManifest(t *testing.T) {
	t.Parallel()
	first := applies(with("minReadySeconds: 5", deployment("3", "app:1")))
	last := applies(deployment("3", "app:1")).value(".spec.minReadySeconds", "")
	play(t, map[string]scenario{
		"the manifest's value": {steps: []step{first, last.warns()}},
		"a user's value": {steps: []step{
			first, patchedBy("kubectl-patch", `{"spec":{"minReadySeconds":9}}`),
			last.warns("removed .spec.minReadySeconds=9, set by kubectl-patch; run kubectl handoff release first to keep it"),
		}},
	})
}

func TestRow6TheManifestTakesOverReplicas(t *testing.T) {
	t.Parallel()
	t.Run("set imperatively", func(t *testing.T) {
		t.Parallel()
		n := newNamespace(t, "enforce")
		n.apply(deployment("3", "app:1"))
		n.kubectl("scale", "deployment", "web", "--replicas=5")
		r := n.apply(deployment("3", "app:1"))
		n.wantWarnings(r)
		n.wantReplicas(3)
		n.wantManagers("kubectl-client-side-apply/Update")
		n.wantLastApplied(`"replicas":3`, true)
	})
	t.Run("set by default", func(t *testing.T) {
		t.Parallel()
		n := newNamespace(t, "enforce")
		n.apply(deployment("", "app:1"))
		n.apply(deployment("4", "app:1"))
		n.wantReplicas(4)
		n.wantLastApplied(`"replicas":4`, true)
	})
}

func TestRow9ImperativeWritesPassWithAWarning(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*namespace) result{
		"kubectl patch": func(n *namespace) result {
			return n.kubectl("patch", "deployment", "web", "-p", `{"spec":{"replicas":9}}`)
		},
		"kubectl edit": func(n *namespace) result {
			editor := n.file("editor", "#!/bin/sh\nsed -i 's/replicas: 7/replicas: 9/' \"$1\"\n")
			return n.must(n.runAs([]string{"KUBE_EDITOR=sh " + editor}, "", "edit", "deployment", "web"))
		},
		"kubectl replace": func(n *namespace) result {
			return n.replace(deployment("9", "app:1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newAutoscaled(t, "7")
			r := write(n)
			n.wantWarnings(r, "HorizontalPodAutoscaler/web owns .spec.replicas and may revert this change; change the autoscaler instead")
			n.wantReplicas(9)
		})
	}
}

func TestRow10OtherWritersPass(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "7")
	r := n.kubectl("patch", "deployment", "web", "--field-manager=somebody-else", "-p", `{"spec":{"replicas":9}}`)
	n.wantWarnings(r)
	n.wantReplicas(9)
}

func TestRow11ScaleIsNeverIntercepted(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "7")
	r := n.kubectl("scale", "deployment", "web", "--replicas=11")
	n.wantWarnings(r)
	n.wantReplicas(11)
}

func TestTheManifestOwnsReplicasAfterTheAutoscalerIsDeleted(t *testing.T) {
	t.Parallel()
	n := newAutoscaled(t, "7")
	n.apply(deployment("3", "app:1"))
	n.kubectl("delete", "hpa", "web")
	n.known(false)
	r := n.apply(deployment("3", "app:1"))
	n.wantWarnings(r)
	n.wantReplicas(3)
	n.wantLastApplied(`"replicas":3`, true)
	n.wantManagers("kubectl-client-side-apply/Update")
}
