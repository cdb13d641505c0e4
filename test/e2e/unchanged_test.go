package e2e_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
		if try == 5 || !reported || !cmp.Equal(withoutIdentity(before), withoutIdentity(after)) {
			n.Errorf("%s changed the object (-before +after):\n%s", what, diff)
			return
		}
	}
}

// reports returns the managedFields entries of the status, which also contain times.
func reports(o *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "status" })
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
