package threeway_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// TestChangesOfDecodedValuesAreDecoded shows the other form of From and To.
func TestChangesOfDecodedValuesAreDecoded(t *testing.T) {
	var types schema.Types
	var changes []threeway.Change
	live := map[string]any{"spec": map[string]any{"replicas": int64(3), "paused": true}}
	manifest := map[string]any{"spec": map[string]any{"replicas": int64(5)}}
	got, err := threeway.Merge(nil, manifest, live, types.Of(&appsv1.Deployment{}), threeway.Options{Changes: &changes})
	if err != nil {
		t.Fatal(err)
	}
	want := []threeway.Change{{Path: fieldpath.MakePathOrDie("spec", "replicas"), Verb: threeway.Set, From: int64(3), To: int64(5)}}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"replicas": int64(5), "paused": true}}, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	unchanged, err := threeway.Merge(manifest, manifest, got, types.Of(&appsv1.Deployment{}), threeway.Options{})
	if err != nil || reflect.ValueOf(unchanged).Pointer() != reflect.ValueOf(got).Pointer() {
		t.Errorf("a merge that changes nothing gives another object, or the error %v", err)
	}
}
