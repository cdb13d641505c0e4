package webhook_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// FuzzMutatedReviews is FuzzHandler for reviews that stay reviews. Each two bytes of changes mutate a place in the review: which
// mutation, and where. The fuzzer's own mutations of bytes rarely leave JSON.
func FuzzMutatedReviews(f *testing.F) {
	change := byte(0)
	for _, body := range seeds(f) {
		f.Add(body, []byte{change, 37 * change, change + 1, 91 * change})
		change++
	}
	handler := newServer(f, enforcedEverywhere())
	f.Fuzz(func(t *testing.T, body, changes []byte) {
		if mutated, ok := mutate(body, changes); ok {
			handler.fuzz(t, mutated)
		}
	})
}

// place is a value in a JSON tree.
type place struct {
	name  string
	value any
	set   func(any)
}

// mutations are what happens to a place; other is another one.
func mutations() []func(at, other place) {
	return []func(at, other place){
		func(at, other place) { // swaps owners, if both are managers, and other values
			a, b := copied(at.value), copied(other.value)
			at.set(b)
			other.set(a)
		},
		func(at, other place) { other.set(copied(at.value)) }, // moves a path
		func(at, _ place) { at.set(map[string]any{at.name: at.value}) },
		func(at, _ place) { // nests more deeply than handoff reads
			value := at.value
			for range 200 {
				value = []any{value}
			}
			at.set(value)
		},
		func(at, _ place) { // truncates a text, such as last-applied, and a list
			switch value := at.value.(type) {
			case string:
				at.set(value[:len(value)/2])
			case []any:
				at.set(value[:len(value)/2])
			}
		},
		func(at, _ place) { // duplicates elements, such as entries of managedFields
			if list, ok := at.value.([]any); ok {
				at.set(slices.Concat(list, list))
			}
		},
		func(at, _ place) { at.set(nil) },
	}
}

// mutate changes places of a review. ok is false if it is not JSON.
func mutate(body, changes []byte) (mutated []byte, ok bool) {
	var review any
	if json.Unmarshal(body, &review) != nil {
		return nil, false
	}
	kinds := mutations()
	for i := 0; i+1 < min(len(changes), 16); i += 2 {
		places := placesIn("", review, func(any) {})
		named := places[int(changes[i+1])%len(places)].name
		alike := slices.DeleteFunc(slices.Clone(places), func(p place) bool { return p.name != named })
		at := alike[int(changes[i]>>4)%len(alike)]
		other := places[(int(changes[i+1])*7+int(changes[i]))%len(places)]
		if changes[i]&8 != 0 { // managers with managers, counts with counts
			other = alike[int(changes[i+1]>>4)%len(alike)]
		}
		kinds[int(changes[i]&7)%len(kinds)](at, other)
	}
	mutated, err := json.Marshal(review)
	return mutated, err == nil && len(mutated) < 1<<20
}

// copied returns a deep copy, so that no value contains itself; nil if it is nested too deeply.
func copied(value any) (other any) {
	text, err := json.Marshal(value)
	if err != nil || json.Unmarshal(text, &other) != nil {
		return nil
	}
	return other
}

// placesIn returns a value and all values in it, in a fixed order.
func placesIn(name string, value any, set func(any)) []place {
	all := []place{{name, value, set}}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			all = append(all, placesIn(key, value[key], func(v any) { value[key] = v })...)
		}
	case []any:
		for i := range value {
			all = append(all, placesIn(name, value[i], func(v any) { value[i] = v })...)
		}
	}
	return all
}
