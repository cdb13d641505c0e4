package twoway_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"

	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
	"github.com/ownership-handoff/handoff/test/golden"
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

// TestTwoWayEqualsKyaml compares thousands of merges.
func TestTwoWayEqualsKyaml(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for range 60 {
		for _, object := range realObjects(t) {
			for flags := range byte(4) {
				seed := make([]byte, 400)
				_, _ = random.Read(seed)
				compare(t, object, flags, seed)
			}
		}
	}
}

func TestTwoWayIsFasterThanKyaml(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	large := make([]string, 95)
	for i := range large {
		large[i] = fmt.Sprintf(`{name: c%d, image: "registry.example/app-%[1]d:1", ports: [{containerPort: 8080, protocol: TCP}],
			env: [{name: MODE, value: live}, {name: ZONE, value: a}], volumeMounts: [{name: data, mountPath: /data}]}`, i)
	}
	for _, live := range append(realObjects(t), decodeYAML(t, containers(strings.Join(large, ",")))) {
		c := &picks{bytes: bytes.Repeat([]byte{12, 13, 22, 3}, 1000)}
		manifestText, liveText := jsontest.Encode(t, c.patch(live)), jsontest.Encode(t, live)
		growth.WantFaster(t, fmt.Sprintf("%d bytes over %d", len(manifestText), len(liveText)), func() error {
			_, err := twoway.Merge(manifestText, liveText, kustomize(), twoway.Options{})
			return err
		}, func() error {
			_, err := merge2.MergeStrings(string(manifestText), string(liveText), false, yaml.MergeOptions{})
			return err
		})
	}
}

// kustomize is kustomize's schema, read once.
var kustomize = sync.OnceValue(func() *twoway.Inferred {
	return twoway.Kustomize().(*twoway.Inferred) //nolint:forcetypeassert // which fails the tests
})

// kinds returns kustomize's schema, or that which infers the keys of lists of unknown kinds.
func kinds(infer bool) schema.Schema {
	if infer {
		return &twoway.Inferred{ByKind: kustomize().ByKind}
	}
	return kustomize()
}

// compare makes a pair of objects from one, and compares their merge with kyaml's.
func compare(t *testing.T, object any, flags byte, seed []byte) {
	t.Helper()
	order, infer := twoway.ListOrder(flags&1), flags&2 != 0
	c := &picks{bytes: seed, order: order, infer: infer}
	live := c.age(object)
	manifest := c.patch(live)
	texts := fmt.Sprintf("infer %v, order %d\nmanifest %s\nlive %s", infer, order, jsontest.Encode(t, manifest), jsontest.Encode(t, live))
	got, err := mergeDecoded(t, manifest, live, kinds(infer), twoway.Options{Order: order})
	want, kyamlErr := kyamlMerge(t, nodeOf(t, manifest), nodeOf(t, live), infer, order)
	if (err == nil) != (kyamlErr == nil) {
		t.Fatalf("got the error %v, kyaml has %v\n%s", err, kyamlErr, texts)
	}
	var invalid *twoway.InputError
	if err != nil && !errors.As(err, &invalid) {
		t.Fatalf("the error is no InputError: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("kyaml's result (-want +got):\n%s\n%s", diff, texts)
	}
}

// nodeOf returns the YAML node of decoded JSON.
func nodeOf(t *testing.T, value any) *yaml.RNode {
	t.Helper()
	return yaml.MustParse(string(jsontest.Encode(t, value)))
}

func realObjects(tb testing.TB) []any {
	tb.Helper()
	var objects []any
	for decoder := yaml.NewDecoder(strings.NewReader(golden.Read(tb, "testdata", "objects.yaml"))); ; {
		var object any
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			tb.Fatal(err)
		}
		objects = append(objects, decodeJSON(tb, jsontest.Encode(tb, object)))
	}
}
