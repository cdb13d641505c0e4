package threeway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// configMapOf returns an apply of a ConfigMap with the given number of values, all of which change.
func configMapOf(values int) applied {
	text := func(version string) []byte {
		var b strings.Builder
		for i := range values {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"setting-%04d":"the value of a setting in version %s"`, i, version)
		}
		return fmt.Appendf(nil, `{"apiVersion":"v1","data":{%s},"kind":"ConfigMap","metadata":{"name":"web","namespace":"shop"}}`, b.String())
	}
	var types schema.Types
	return applied{
		sample: sample{name: "configmap", typed: &corev1.ConfigMap{}, place: types.Of(&corev1.ConfigMap{})},
		base:   text("1"), manifest: text("2"), live: text("1"),
	}
}

// timedAlgorithm runs upstream's algorithm once.
func timedAlgorithm(tb testing.TB, a applied, base, manifest, live map[string]any) time.Duration {
	tb.Helper()
	copies := consumed(base, manifest, live)
	start := time.Now()
	algorithm(tb, a, copies)
	return time.Since(start)
}

// consumed returns the copies that upstream's algorithm may change.
func consumed(base, manifest, live map[string]any) [5]map[string]any {
	var copies [5]map[string]any
	for i, from := range []map[string]any{live, manifest, base, manifest, live} {
		copies[i] = runtime.DeepCopyJSON(from)
	}
	return copies
}

// algorithm is upstream's algorithm on decoded values. strategicpatch creates three-way patches from texts only, so this creates,
// merges and applies the two patches that a three-way patch consists of.
func algorithm(tb testing.TB, a applied, copies [5]map[string]any) {
	tb.Helper()
	meta, err := strategicpatch.NewPatchMetaFromStruct(a.sample.typed)
	if err != nil {
		tb.Fatal(err)
	}
	set, err := strategicpatch.CreateTwoWayMergeMapPatchUsingLookupPatchMeta(copies[0], copies[1], meta)
	if err != nil {
		tb.Fatal(err)
	}
	dropped, err := strategicpatch.CreateTwoWayMergeMapPatchUsingLookupPatchMeta(copies[2], copies[3], meta)
	if err != nil {
		tb.Fatal(err)
	}
	patch, err := strategicpatch.MergeStrategicMergeMapPatchUsingLookupPatchMeta(meta, dropped, set)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(copies[4], patch, meta); err != nil {
		tb.Fatal(err)
	}
}
