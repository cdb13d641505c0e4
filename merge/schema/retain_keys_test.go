package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ownership-handoff/handoff/merge/schema"
)

func TestWithoutRetainKeys(t *testing.T) {
	if got := schema.WithoutRetainKeys(nil); got != nil {
		t.Errorf("want no schema for none, which the merges replace by their own default, got %v", got)
	}
	volumes := schema.WithoutRetainKeys(new(schema.Types).Of(&corev1.PodSpec{})).Field("volumes")
	want := schema.Strategy{Kind: schema.ListKind, List: schema.MergeByKey, Keys: []string{"name"}}
	if diff := cmp.Diff(want, volumes.Strategy()); diff != "" {
		t.Errorf("the volumes' strategy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(schema.Strategy{Kind: schema.ObjectKind}, volumes.Element().Strategy()); diff != "" {
		t.Errorf("a volume's strategy (-want +got):\n%s", diff)
	}
}
