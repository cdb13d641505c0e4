package managedfields_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/managedfields"
)

// TestInOrder compares InOrder with k8s.io/apimachinery, whose ScaleHandler returns entries in
// the order in which they are stored.
func TestInOrder(t *testing.T) {
	start, random := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret is made of it
	times := []*metav1.Time{nil, {Time: start}, {Time: start.Add(time.Second)}, {Time: start.AddDate(-1, 0, 0)}}
	var given []metav1.ManagedFieldsEntry // of different identities, as all entries of one object are
	for _, manager := range []string{"a", "b", "kubectl", "kubectl-edit", "Z"} {
		for _, subresource := range []string{"", "scale", "status"} {
			for _, written := range []string{"Update apps/v1", "Update apps/v2", "Apply apps/v1"} {
				operation, version, _ := strings.Cut(written, " ")
				given = append(given, metav1.ManagedFieldsEntry{
					Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: version, Subresource: subresource,
				})
			}
		}
	}
	for range 100 {
		random.Shuffle(len(given), func(i, j int) { given[i], given[j] = given[j], given[i] })
		for i := range given {
			given[i].Time, given[i].FieldsType, given[i].FieldsV1 = times[random.IntN(len(times))], "FieldsV1", metav1.NewFieldsV1(ownsBoth)
		}
		versions := upstream.ResourcePathMappings{"apps/v1": nil, "apps/v2": nil}
		sorted, err := upstream.NewScaleHandler(given, schema.GroupVersion{Group: "apps", Version: "v1"}, versions).ToParent(nil)
		expect.NoError(t, err)
		got := managedfields.Encode(managedfields.InOrder(entriesOf(t, string(jsontest.Encode(t, given)))))
		if diff := jsontest.Diff(t, string(jsontest.Encode(t, sorted)), string(got)); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
	}
}
