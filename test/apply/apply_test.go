package apply_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestThreeWayMatchesKubectlApply compares the complete objects, including last-applied, and verifies the results that the
// sentences state.
func TestThreeWayMatchesKubectlApply(t *testing.T) {
	t.Parallel()
	all, kinds := edits(t), map[string]int{}
	for sentence, e := range all {
		kinds[e.kind]++
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, e)
			o, err := s.play(threeWay)
			if err != nil {
				t.Fatal(err)
			}
			if diff := o.differs(); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(o.stored, o.merged); (diff != "") != (e.defaulted || e.isDropped()) {
				t.Errorf("defaulted is %v; before the API server's defaults (-stored +merged):\n%s", e.defaulted, diff)
			}
			if stays, says, known := staysOf(sentence, e, o); known && stays != says {
				t.Errorf("another manager's value stays: want %v, got %v", says, stays)
			}
			if nothing := strings.HasSuffix(sentence, nothingChanges) || e.isDropped(); nothing != o.nothing() {
				t.Errorf("nothing changes: want %v, got %v", nothing, o.nothing())
			}
		})
	}
	t.Logf("%d edits of %d kinds: %v", len(all), len(kinds), kinds)
}

// differs returns the difference between the merge's result and the object stored by kubectl apply, or "".
func (o outcome) differs() string {
	if o.refused != nil {
		return "the API server rejects the result of the merge: " + o.refused.Error()
	}
	if diff := cmp.Diff(o.stored, o.replaced); diff != "" {
		return "the object (-stored +merged):\n" + diff
	}
	return ""
}

// nothing reports whether the second apply has stored nothing new except, possibly, its manifest in last-applied.
func (o outcome) nothing() bool {
	return cmp.Equal(withoutLastApplied(o.live), withoutLastApplied(o.stored))
}

// staysOf reports whether another manager's value, which contains "theirs", is stored after the second apply, whether the
// sentence states this, and whether the edit has such a value.
func staysOf(sentence string, e edit, o outcome) (stays, says, known bool) {
	theirs := func(value any) bool { return strings.Contains(strings.ToLower(fmt.Sprint(value)), "theirs") }
	return theirs(withoutLastApplied(o.stored)), strings.Contains(sentence, "stay"), theirs(e.others)
}

func withoutLastApplied(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	unstructured.RemoveNestedField(object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	return object
}
