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

// TestThreeWayGivesWhatKubectlApplyStores compares all of each object, last-applied included, and holds each sentence to
// what it says of the outcome.
func TestThreeWayGivesWhatKubectlApplyStores(t *testing.T) {
	t.Parallel()
	all, kinds := edits(t), map[string]int{}
	for sentence, e := range all {
		kinds[e.kind]++
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			o, err := newStage(t, e).play(threeWay)
			if err != nil {
				t.Fatal(err)
			}
			if diff := o.differs(); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(o.stored, o.merged); (diff != "") != e.defaulted {
				t.Errorf("defaulted is %v, and before the API server's defaults (-stored +merged):\n%s", e.defaulted, diff)
			}
			if stays, says, known := staysOf(sentence, e, o); known && stays != says {
				t.Errorf("the sentence says that another's stays: %v, and it is so: %v", says, stays)
			}
			if nothing := strings.HasSuffix(sentence, nothingChanges); nothing != o.nothing() {
				t.Errorf("the sentence says that nothing changes: %v, and it is so: %v", nothing, o.nothing())
			}
		})
	}
	t.Logf("%d edits of %d kinds: %v", len(all), len(kinds), kinds)
}

// differs says where the merge's result is not what kubectl apply has made the API server store.
func (o outcome) differs() string {
	if o.refused != nil {
		return "the API server refuses the result of the merge: " + o.refused.Error()
	}
	if diff := cmp.Diff(o.stored, o.replaced); diff != "" {
		return "the object (-stored +merged):\n" + diff
	}
	return ""
}

// nothing says whether the second apply has stored nothing new but, perhaps, its manifest.
func (o outcome) nothing() bool {
	return cmp.Equal(withoutLastApplied(o.live), withoutLastApplied(o.stored))
}

// staysOf says whether what others have written, if they call it theirs, is stored after the second apply, and whether
// the edit's sentence says so.
func staysOf(sentence string, e edit, o outcome) (stays, says, known bool) {
	theirs := func(value any) bool { return strings.Contains(strings.ToLower(fmt.Sprint(value)), "theirs") }
	return theirs(withoutLastApplied(o.stored)), strings.Contains(sentence, "stay"), theirs(e.others)
}

func withoutLastApplied(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	unstructured.RemoveNestedField(object, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	return object
}
