package webhook_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMalformedReviewsFailOpen changes parts of valid reviews: values are removed, repeated, replaced by other
// parts, or have another type.
func TestMalformedReviewsFailOpen(t *testing.T) {
	bases := reviewBases(t)
	handler := newServer(t, enforcedEverywhere())
	patches := 0
	for seed := range uint64(8_000) {
		random := seeded(seed)
		handler.forget()
		body := malformed(t, bases[random.IntN(len(bases))], random)
		if checkResponse(t, handler, body).Patch != nil {
			patches++
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, body)
		}
	}
	t.Logf("%d patches", patches)
}

func reviewBases(tb testing.TB) [][]byte {
	tb.Helper()
	bases := [][]byte{
		[]byte(update(csa, scaledBy7(), applied3()).body()), []byte(update(csa, kept7(), applied3()).body()),
		[]byte(update("kubectl-patch", scaledBy7(), patched1()).body()),
	}
	reviews := recorded(tb)
	for _, name := range slices.Sorted(maps.Keys(reviews)) {
		if len(reviews[name]) < 10_000 { // more of the same would only be slower
			bases = append(bases, reviews[name])
		}
	}
	return bases
}

// malformed returns the review with one to eight parts changed.
func malformed(tb testing.TB, body []byte, random *rand.Rand) []byte {
	tb.Helper()
	review := any(unmarshal(tb, string(body)))
	for range 1 + random.IntN(8) {
		put(random, review, replacement(random, review))
	}
	return []byte(encode(review))
}

// part chooses a part of a document, and returns its parent.
func part(random *rand.Rand, v any) (container any, name string, index int) {
	for {
		var child any
		switch in := v.(type) {
		case map[string]any:
			if len(in) == 0 {
				return container, name, index
			}
			name = slices.Sorted(maps.Keys(in))[random.IntN(len(in))]
			container, child = in, in[name]
		case []any:
			if len(in) == 0 {
				return container, name, index
			}
			index = random.IntN(len(in))
			container, child = in, in[index]
		default:
			return container, name, index
		}
		// The important parts of a review are deeply nested.
		if random.IntN(5) == 1 {
			return container, name, index
		}
		v = child
	}
}

// gone is the replacement of a part that is removed.
type gone struct{}

func replacement(random *rand.Rand, review any) any {
	values := []any{
		gone{}, nil, "", "x", 0, -1, 7, 3.5, true, []any{}, map[string]any{}, []any{nil}, map[string]any{"": nil},
		"Apply", "Update", "CREATE", "UPDATE", "kubectl", "helm", csa, "ownership-handoff", "apps/v2", "scale", early, late, manifest3, manifestNone, "{", "null",
		map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}},
		map[string]any{"f:spec": map[string]any{".": map[string]any{}, "f:replicas": map[string]any{"f:a": map[string]any{}}}},
	}
	if choice := random.IntN(len(values) + 8); choice < len(values) {
		return values[choice]
	}
	// A copy of another part.
	switch container, name, index := part(random, review); in := container.(type) {
	case map[string]any:
		return clone(in[name])
	case []any:
		return clone(in[index])
	default:
		return gone{}
	}
}

func clone(v any) any {
	var copied any
	if err := json.Unmarshal([]byte(encode(v)), &copied); err != nil {
		panic(err)
	}
	return copied
}

// put replaces or removes a part.
func put(random *rand.Rand, review, replacement any) {
	_, isGone := replacement.(gone)
	switch container, name, index := part(random, review); in := container.(type) {
	case map[string]any:
		if isGone {
			delete(in, name)
			return
		}
		in[name] = replacement
	case []any:
		if isGone {
			in[index] = nil
			return
		}
		in[index] = replacement
	}
}
