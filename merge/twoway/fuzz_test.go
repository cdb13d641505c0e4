package twoway_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// FuzzTwoWay verifies that a merge equals kyaml's, except for the listed differences. It merges an object of objects.yaml with a
// patch to it, both made from bytes, in either order of lists, with and without inferred keys.
func FuzzTwoWay(f *testing.F) {
	objects := realObjects(f)
	random := rand.NewChaCha8([32]byte{})
	for kind := range objects {
		for flags := range byte(4) {
			seed := make([]byte, 300)
			_, _ = random.Read(seed)
			f.Add(byte(kind), flags, seed)
		}
	}
	f.Fuzz(func(t *testing.T, kind, flags byte, seed []byte) {
		compare(t, objects[int(kind)%len(objects)], flags, seed)
	})
}

// TestTwoWayEqualsKyaml compares thousands of merges, and verifies that few have a listed difference.
func TestTwoWayEqualsKyaml(t *testing.T) {
	objects := realObjects(t)
	random := rand.NewChaCha8([32]byte{1})
	compared, all := 0, 0
	for range 60 {
		for _, object := range objects {
			for flags := range byte(4) {
				seed := make([]byte, 400)
				_, _ = random.Read(seed)
				all++
				if compare(t, object, flags, seed) {
					compared++
				}
			}
		}
	}
	t.Logf("%d of %d merges have no listed difference", compared, all)
	if compared < all/2 {
		t.Errorf("only %d of %d merges have been compared", compared, all)
	}
}

// kustomize is kustomize's schema, read once.
var kustomize = sync.OnceValue(func() *twoway.Inferred {
	return twoway.Kustomize().(*twoway.Inferred) //nolint:forcetypeassert // which fails the tests
})

// compare makes a pair of objects from one and merges them. It reports whether the result was compared with kyaml's: it is not if
// a listed difference may affect it.
func compare(t *testing.T, object any, flags byte, seed []byte) bool {
	t.Helper()
	order, infer := twoway.ListOrder(flags&1), flags&2 != 0
	c := &picks{bytes: seed}
	live := c.age(object)
	manifest := c.patch(live)
	place := kinds(infer)
	got, err := mergeDecoded(t, manifest, live, place, twoway.Options{Order: order})
	if differences := listed(manifest, live, place, order); len(differences) > 0 {
		return false
	}
	want, kyamlErr := kyamlMerge(yaml.NewRNode(nodeOf(manifest)), yaml.NewRNode(nodeOf(live)), infer, order)
	if (err == nil) != (kyamlErr == nil) {
		t.Fatalf("got the error %v, kyaml has %v\nmanifest %s\nlive %s", err, kyamlErr, string(jsontest.Encode(t, manifest)), string(jsontest.Encode(t, live)))
	}
	var invalid *twoway.InputError
	if err != nil && !errors.As(err, &invalid) {
		t.Fatalf("the error is no InputError: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("infer %v, order %d, kyaml's result (-want +got):\n%s\nmanifest %s\nlive %s", infer, order, diff, string(jsontest.Encode(t, manifest)), string(jsontest.Encode(t, live)))
	}
	return true
}

func realObjects(tb testing.TB) []any {
	tb.Helper()
	text, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var objects []any
	for decoder := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var object any
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, plainJSON(tb, object))
	}
}
