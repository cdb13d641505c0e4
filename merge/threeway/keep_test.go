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
	got, err := threeway.Merge(nil, manifest, live, types.Of(&appsv1.Deployment{}), threeway.Options{Report: func(c threeway.Change) { changes = append(changes, c) }})
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

// TestUnsupportedTypesAreErrorsOrStay verifies that a decoded value of a type into which JSON is not decoded is an error where it
// would have to merge, and that live's stays where the merge does not touch it.
func TestUnsupportedTypesAreErrorsOrStay(t *testing.T) {
	var types schema.Types
	spec := func(name string, value any) map[string]any {
		return map[string]any{"spec": map[string]any{name: value}}
	}
	for sentence, c := range map[string]struct {
		manifest, live map[string]any
		want           string
	}{
		"in the manifest": {
			spec("replicas", int16(3)), spec("replicas", int64(3)),
			"manifest: .spec.replicas: the value is of the wrong kind: it has the unsupported type int16",
		},
		"in live, and the manifest sets it": {
			spec("replicas", []any{}), spec("replicas", int16(3)),
			"live: .spec.replicas: the value is of the wrong kind: it has the unsupported type int16",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := threeway.Merge(nil, c.manifest, c.live, types.Of(&appsv1.Deployment{}), threeway.Options{})
			if err == nil || err.Error() != c.want {
				t.Errorf("want error %q, got %v", c.want, err)
			}
		})
	}
	live := map[string]any{"spec": map[string]any{"replicas": int16(3), "paused": true}}
	got, err := threeway.Merge(nil, spec("paused", false), live, types.Of(&appsv1.Deployment{}), threeway.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"spec": map[string]any{"replicas": int16(3), "paused": false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}
