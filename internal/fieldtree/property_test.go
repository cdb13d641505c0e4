package fieldtree_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsontest"
)

// eachSeed runs a property test on generated input, and prints the first seed that fails. The fuzz tests try others.
func eachSeed(t *testing.T, check func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	for seed := range uint64(rounds) {
		check(t, newRandom(seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func generatedSet(random *rand.Rand) *fieldpath.Set {
	text := generated(random, true)
	var v any
	if json.Unmarshal(text, &v) != nil {
		return fieldpath.NewSet()
	}
	return fieldpath.NewSet(newPicker(random.IntN).paths(v, 8)...)
}

func TestFindAgreesWithSingleLookups(t *testing.T) {
	found := 0
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		t.Helper()
		text := generated(random, false)
		o := parsed(t, text)
		paths := newPicker(random.IntN).paths(jsontest.Decode(t, text), 1+random.IntN(20))
		checkFind(t, o, paths)
		for _, path := range paths {
			if o.Locate(path).Value != nil {
				found++
			}
			checkLeaves(t, o, path)
		}
		if t.Failed() {
			t.Logf("%s", text)
		}
	})
	if found < rounds {
		t.Errorf("only %d paths lead somewhere", found)
	}
}

func TestCutAgreesWithCuttingEachPathAlone(t *testing.T) {
	changes := 0
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		t.Helper()
		text := generated(random, false)
		paths := newPicker(random.IntN).paths(jsontest.Decode(t, text), 1+random.IntN(8))
		checkCut(t, text, paths)
		if tree, _ := treeOf(paths...); !t.Failed() {
			if _, changed := tree.Cut(text, nil, nil); changed {
				changes++
			}
			return
		}
		t.Logf("%s", text)
	})
	if changes < rounds/4 {
		t.Errorf("only %d texts changed", changes)
	}
}

func TestManagedVisitsThePathsInTheSet(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		t.Helper()
		set := generatedSet(random)
		fields, err := set.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		paths := claimedPaths(fields, random.IntN)
		set.Iterate(func(path fieldpath.Path) {
			if random.IntN(2) == 0 {
				paths = append(paths, path.Copy()[:1+random.IntN(len(path))])
			}
		})
		checkManaged(t, fields, set, paths)
		checkMatching(t, fields, set, paths)
		if t.Failed() {
			t.Logf("%s", fields)
		}
	})
}

func TestEqualIgnoresTheWantedPaths(t *testing.T) {
	equal, different := 0, 0
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		t.Helper()
		a := generated(random, true)
		paths := newPicker(random.IntN).paths(jsontest.Decode(t, a), 1+random.IntN(6))
		b := a
		for range random.IntN(5) {
			b = changed(t, random, b, paths)
		}
		if checkEqual(t, a, b, paths) {
			equal++
		} else {
			different++
		}
	})
	if equal < rounds/4 || different < rounds/20 {
		t.Errorf("%d equal, %d different", equal, different)
	}
}

// changed returns a text with one value changed or removed, at one of the paths or anywhere.
func changed(t *testing.T, random *rand.Rand, text []byte, paths []fieldpath.Path) []byte {
	t.Helper()
	if len(paths) == 0 || random.IntN(3) == 0 {
		paths = newPicker(random.IntN).paths(jsontest.Decode(t, text), 1)
	}
	if len(paths) == 0 {
		return text
	}
	path := paths[random.IntN(len(paths))]
	if random.IntN(2) == 0 {
		return withoutPaths(t, text, []fieldpath.Path{path}, false, nil)
	}
	value := parsed(t, text).Value(path)
	if value == nil {
		return text
	}
	at := offsetIn(text, value)
	return []byte(string(text[:at]) + `{"other":1}` + string(text[at+len(value):]))
}
