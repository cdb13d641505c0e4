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
	"github.com/ownership-handoff/handoff/merge/threeway"
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

// BenchmarkConfigMap applies a ConfigMap of 5 KB whose values all change.
func BenchmarkConfigMap(b *testing.B) {
	for _, values := range []int{80, 800} {
		a := configMapOf(values)
		b.Run(fmt.Sprintf("%dKB/handoff", len(a.live)/1000), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := threeway.MergeJSON(a.base, a.manifest, a.live, a.sample.place, threeway.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%dKB/strategicpatch", len(a.live)/1000), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := upstreamStrategic(a.base, a.manifest, a.live, a.sample.typed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAlgorithm merges decoded values, without decoding and encoding on either side. Upstream's side is two patches, their
// merge and its application, without the copies that it consumes.
func BenchmarkAlgorithm(b *testing.B) {
	for _, a := range []applied{configMapOf(80), deploymentOf(b, 9), deploymentOf(b, 95)} {
		name := fmt.Sprintf("%s-%dKB", a.sample.name, len(a.live)/1000)
		base, manifest, live := fromJSON(b, a.base), fromJSON(b, a.manifest), fromJSON(b, a.live)
		b.Run(name+"/handoff", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := threeway.Merge(base, manifest, live, a.sample.place, threeway.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/strategicpatch", func(b *testing.B) { benchmarkAlgorithm(b, a, base, manifest, live) })
	}
}

func benchmarkAlgorithm(b *testing.B, a applied, base, manifest, live map[string]any) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		copies := consumed(base, manifest, live)
		b.StartTimer()
		algorithm(b, a, copies)
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
