package ownership_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/ownership-handoff/handoff/ownership"
)

// TestInOrder compares InOrder with k8s.io/apimachinery, whose ScaleHandler returns entries in
// the order in which they are stored.
func TestInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret is made of it
	for range 300 {
		given := randomEntries(random)
		versions := managedfields.ResourcePathMappings{"apps/v1": nil, "apps/v2": nil}
		sorted, err := managedfields.NewScaleHandler(given, schema.GroupVersion{Group: "apps", Version: "v1"}, versions).ToParent(nil)
		if err != nil {
			t.Fatal(err)
		}
		want := encoded(t, sorted)

		got := encoded(t, given)
		slices.SortStableFunc(got, ownership.CompareEntries)
		if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
	}
}

// randomEntries are of different identities, as all entries of one object are.
func randomEntries(random *rand.Rand) []metav1.ManagedFieldsEntry {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	times := []*metav1.Time{nil, {Time: start}, {Time: start.Add(time.Second)}, {Time: start.AddDate(-1, 0, 0)}}
	seen := map[metav1.ManagedFieldsEntry]bool{}
	var entries []metav1.ManagedFieldsEntry
	for range random.IntN(12) {
		e := metav1.ManagedFieldsEntry{
			Manager: pick("a", "b", "kubectl", "kubectl-edit", "Z"), Operation: metav1.ManagedFieldsOperationType(pick("Apply", "Update")),
			APIVersion: pick("apps/v1", "apps/v2"), Subresource: pick("", "", "scale", "status"),
		}
		identity := e
		if e.Operation == "Apply" {
			identity.APIVersion = ""
		}
		if seen[identity] {
			continue
		}
		seen[identity] = true
		e.Time, e.FieldsType, e.FieldsV1 = times[random.IntN(len(times))], "FieldsV1", metav1.NewFieldsV1(ownsImage)
		entries = append(entries, e)
	}
	return entries
}

func encoded(t *testing.T, list []metav1.ManagedFieldsEntry) []ownership.Entry {
	t.Helper()
	if list == nil {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := parseEntries(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func texts(entries []ownership.Entry) []string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = string(e.Text)
	}
	return texts
}
