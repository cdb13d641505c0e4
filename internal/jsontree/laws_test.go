package jsontree_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/growth"
	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/jsontree"
	"github.com/ownership-handoff/handoff/internal/race"
)

// without returns a decoded value without the places whose JSON pointers are cut; emptied says that parents that become empty go
// as well, if they are members of an object.
func without(v any, at string, cut map[string]bool, emptied bool) any {
	switch v := v.(type) {
	case map[string]any:
		left := map[string]any{}
		for name, part := range v {
			pointer := at + "/" + jsontree.EscapePointer(name)
			rest := without(part, pointer, cut, emptied)
			isGone := cut[pointer] || emptied && isEmpty(rest) && !isEmpty(part)
			if !isGone {
				left[name] = rest
			}
		}
		return left
	case []any:
		left := []any{}
		for i, part := range v {
			if pointer := at + "/" + strconv.Itoa(i); !cut[pointer] {
				left = append(left, without(part, pointer, cut, emptied))
			}
		}
		return left
	default:
		return v
	}
}

func isEmpty(v any) bool {
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	return isObject && len(object) == 0 || isList && len(list) == 0
}

// TestCutsAgreeWithDecodedValues cuts some fields of generated objects, with the parents that become empty and without. The rest
// equals the decoded rest, and the two texts are equal but for what was cut.
func TestCutsAgreeWithDecodedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0)) //nolint:gosec // not for secrets
	for range 3000 {
		object, text, all := generatedObject(t, r)
		root, emptied := jsontree.Valid(text), r.IntN(2) == 0
		mayGo := func(parent fieldpath.Path) bool { return emptied && parent[len(parent)-1].FieldName != nil }
		cut := map[string]bool{}
		var nodes []*jsontree.Node
		for _, path := range all {
			if r.IntN(4) > 0 {
				continue
			}
			found := root.Find(path)
			if found != nil {
				cut[found.PointerIn(nil)] = true
				nodes = append(nodes, found)
			}
			if gone := root.Cut(path, mayGo); gone != nil && gone != found {
				t.Fatalf("%s of %s: want %s cut, got %s", path, text, found.Text(), gone.Text())
			}
		}
		root.Cut(nil, mayGo)
		want := without(object, "", cut, emptied)
		got := root.Remaining()
		if diff := jsontest.Diff(t, string(jsontest.Encode(t, want)), string(got)); diff != "" {
			t.Fatalf("%s without %v (-want +got):\n%s", text, cut, diff)
		}
		if plain := jsontree.Valid(got); !emptied && !jsontree.EqualBut(root, plain, nodes...) && len(nodes) > 0 {
			t.Fatalf("%s does not equal %s but for %v", text, got, cut)
		}
	}
}

// A key with a comma in a value is not taken for another key.
func TestKeysWithCommasAreNotMixedUp(t *testing.T) {
	root := jsontree.Valid([]byte(`{"l":[{"a":"x,\"y","b":"z"}]}`))
	if got := root.Find(fieldpath.MakePathOrDie("l", fieldpath.KeyByFields("a", "x", "b", `y,"z`))); got != nil {
		t.Errorf("found %s", got.Text())
	}
}

// A long name with escapes is not decoded again for each other name that is looked up.
func TestLookupsBesideALongNameTakeLinearTime(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector distorts the times")
	}
	for _, others := range []int{1, 40} {
		growth.WantLinear(t, 4000, func(size int) func() {
			var text strings.Builder
			text.WriteString(`{"` + strings.Repeat(`\u006d`, 8*size) + `":0`)
			for i := range others {
				fmt.Fprintf(&text, `,"%d":0`, i)
			}
			return func() {
				root := jsontree.Valid([]byte(text.String() + "}"))
				for i := range size {
					root.Member(strconv.Itoa(i))
				}
			}
		})
	}
}
