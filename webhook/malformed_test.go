package webhook_test

import (
	"encoding/binary"
	"encoding/json"
	"maps"
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
		var choices []byte
		for range 1 + random.IntN(4) {
			choices = binary.BigEndian.AppendUint64(choices, random.Uint64())
		}
		handler.forget()
		body := malformed(t, bases[random.IntN(len(bases))], choices)
		if checkResponse(t, handler, body).Patch != nil {
			patches++
		}
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, body)
		}
	}
	t.Logf("%d patches", patches)
}

// FuzzMalformedReview lets the fuzzer choose which parts are changed.
func FuzzMalformedReview(f *testing.F) {
	bases := reviewBases(f)
	for base := range bases {
		f.Add(uint(base), []byte{})
		f.Add(uint(base), []byte{byte(base), 3, 1, 7, 2, 200, 31, 4})
	}
	handler := newServer(f, enforcedEverywhere())
	f.Fuzz(func(t *testing.T, base uint, choices []byte) {
		handler.forget()
		body := malformed(t, bases[base%uint(len(bases))], choices)
		checkResponse(t, handler, body)
		if t.Failed() {
			t.Logf("%s", body)
		}
	})
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

// chooser returns the next choice, 0 when all are used.
type chooser struct{ choices []byte }

func (c *chooser) next(of int) int {
	if of <= 0 || len(c.choices) == 0 {
		return 0
	}
	choice := int(c.choices[0])
	c.choices = c.choices[1:]
	return choice % of
}

// malformed returns the review with the chosen parts changed.
func malformed(tb testing.TB, body, choices []byte) []byte {
	tb.Helper()
	var review any
	if err := json.Unmarshal(body, &review); err != nil {
		tb.Fatal(err)
	}
	c := &chooser{choices}
	for range 8 {
		if len(c.choices) == 0 {
			break
		}
		replacement := c.replacement(review)
		c.put(review, replacement)
	}
	return []byte(encode(review))
}

// part chooses a part of a document, and returns its parent.
func (c *chooser) part(v any) (container any, name string, index int) {
	for {
		var child any
		switch in := v.(type) {
		case map[string]any:
			if len(in) == 0 {
				return container, name, index
			}
			name = slices.Sorted(maps.Keys(in))[c.next(len(in))]
			container, child = in, in[name]
		case []any:
			if len(in) == 0 {
				return container, name, index
			}
			index = c.next(len(in))
			container, child = in, in[index]
		default:
			return container, name, index
		}
		// The important parts of a review are deeply nested.
		if c.next(5) == 1 {
			return container, name, index
		}
		v = child
	}
}

// gone is the replacement of a part that is removed.
type gone struct{}

func (c *chooser) replacement(review any) any {
	values := []any{
		gone{}, nil, "", "x", 0, -1, 7, 3.5, true, []any{}, map[string]any{}, []any{nil}, map[string]any{"": nil},
		"Apply", "Update", "CREATE", "UPDATE", "kubectl", "helm", csa, "ownership-handoff", "apps/v2", "scale", early, late, manifest3, manifestNone, "{", "null",
		map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}},
		map[string]any{"f:spec": map[string]any{".": map[string]any{}, "f:replicas": map[string]any{"f:a": map[string]any{}}}},
	}
	if choice := c.next(len(values) + 8); choice < len(values) {
		return values[choice]
	}
	// A copy of another part.
	switch container, name, index := c.part(review); in := container.(type) {
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
func (c *chooser) put(review, replacement any) {
	_, isGone := replacement.(gone)
	switch container, name, index := c.part(review); in := container.(type) {
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
