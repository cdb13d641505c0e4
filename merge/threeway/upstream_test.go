package threeway_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
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

func TestThreeWayEqualsUpstream(t *testing.T) {
	t.Parallel()
	rounds := uint64(500)
	if testing.Short() {
		rounds = 100
	}
	for _, o := range sampleObjects(t) {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			for seed := range rounds {
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

// scriptOf returns 1,000 to 2,000 bytes, enough for all decisions about a Deployment, that look random and are the same for each seed.
func scriptOf(seed uint64) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	random := rand.NewChaCha8(key)
	script := make([]byte, 1000+random.Uint64()%1000)
	_, _ = random.Read(script) // never fails
	return script
}

// differential merges the same texts with both dialects, and compares with upstream. What strategicpatch leaves of its patch in what
// is added again is compared by TestDifferencesFromStrategicPatch only.
func differential(t *testing.T, o sample, base, manifest, live []byte) {
	t.Helper()
	in := inputs{string(base), string(manifest), string(live)}
	if isAddedAgain(jsontest.Decode(t, base), jsontest.Decode(t, manifest), jsontest.Decode(t, live), o.place) {
		_, _ = threeway.Merge(base, manifest, live, o.place, threeway.Options{}) // must not panic
	} else {
		want, err := upstreamStrategic(base, manifest, live, o.typed)
		agrees(t, o.place, in, want, err)
	}
	want, err := upstreamMergePatch(base, manifest, live)
	if err != nil {
		t.Fatalf("upstream's merge patch: %v", err)
	}
	agrees(t, schema.JSONMergePatch(), in, want, err)
}
