package threeway_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/threeway"
)

// upstreamStrategic is what kubectl and the API server make of an apply of a built-in object.
func upstreamStrategic(base, manifest, live []byte, typed any) (result []byte, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("strategicpatch panics: %v", panicked)
		}
	}()
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(base, manifest, live, meta, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(live, patch, typed)
}

// upstreamMergePatch is what they make of an apply of a custom resource.
func upstreamMergePatch(base, manifest, live []byte) ([]byte, error) {
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(base, manifest, live)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(live, patch)
}

func fromJSON(tb testing.TB, text []byte) map[string]any {
	tb.Helper()
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		tb.Fatalf("%v in %s", err, text)
	}
	return value
}

func TestThreeWayEqualsUpstream(t *testing.T) {
	t.Parallel()
	for _, o := range sampleObjects(t) {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			for seed := range rounds(t) {
				c := choices{script: scriptOf(seed)}
				base, manifest, live := c.inputs(o)
				differential(t, o, jsontest.Encode(t, base), jsontest.Encode(t, manifest), jsontest.Encode(t, live))
				if t.Failed() {
					return
				}
			}
		})
	}
}

// scriptOf returns 40 to 240 bytes that look random and are the same for each seed.
func scriptOf(seed uint64) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	random := rand.NewChaCha8(key)
	script := make([]byte, 40+random.Uint64()%200)
	_, _ = random.Read(script) // never fails
	return script
}

func rounds(t *testing.T) uint64 {
	t.Helper()
	if testing.Short() {
		return 100
	}
	return 500
}

// differential merges the same texts with both dialects, and compares with upstream. What strategicpatch leaves of its patch in what
// is added again is compared by TestDifferencesFromStrategicPatch only.
func differential(t *testing.T, o sample, base, manifest, live []byte) {
	t.Helper()
	want, wantErr := upstreamStrategic(base, manifest, live, o.typed)
	got, err := threeway.Merge(base, manifest, live, o.place, threeway.Options{})
	switch {
	case isAddedAgain(fromJSON(t, base), fromJSON(t, manifest), fromJSON(t, live), o.place):
	case wantErr == nil && err == nil:
		if diff := cmp.Diff(fromJSON(t, want), fromJSON(t, got)); diff != "" {
			t.Errorf("strategic (-upstream +handoff):\n%s\nbase     %s\nmanifest %s\nlive     %s", diff, base, manifest, live)
		}
	case wantErr == nil || err == nil:
		t.Errorf("strategic: error %v, upstream's %v\nbase     %s\nmanifest %s\nlive     %s", err, wantErr, base, manifest, live)
	}

	want, wantErr = upstreamMergePatch(base, manifest, live)
	got, err = threeway.Merge(base, manifest, live, schema.JSONMergePatch(), threeway.Options{})
	if wantErr != nil || err != nil {
		t.Fatalf("merge patch: error %v, upstream's %v", err, wantErr)
	}
	if diff := cmp.Diff(fromJSON(t, want), fromJSON(t, got)); diff != "" {
		t.Errorf("merge patch (-upstream +handoff):\n%s\nbase     %s\nmanifest %s\nlive     %s", diff, base, manifest, live)
	}
}
