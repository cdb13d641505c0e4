package apply_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// TestWrongMergesAreDetected runs edits with merges that contain one error each. The comparison must detect the error despite the
// API server's defaults, or the API server must reject the result.
func TestWrongMergesAreDetected(t *testing.T) {
	t.Parallel()
	all := edits(t)
	for wrong, c := range map[string]struct {
		merge merger
		edits []string
	}{
		"returns live": {
			func(_, _, live []byte, _ schema.Schema) ([]byte, error) { return live, nil },
			[]string{"a field is changed", "arguments are atomic"},
		},
		"removes nothing": {
			func(_, manifest, live []byte, place schema.Schema) ([]byte, error) {
				return threeWay([]byte("{}"), manifest, live, place)
			},
			[]string{"a field with a default is removed", "labels: added, changed and removed", "containers: one is removed", "finalizers: all go, and another manager's with them", "custom: the whole spec is removed"},
		},
		"sets only fields that differ from the base": {
			setsOnlyChanges,
			[]string{"a field that another has scaled is set back by the same manifest", "a field that another has removed comes back", "custom: a size that another manager scaled is reset"},
		},
		"treats all lists as atomic": {
			func(base, manifest, live []byte, _ schema.Schema) ([]byte, error) {
				return threeWay(base, manifest, live, schema.JSONMergePatch())
			},
			[]string{"containers: another manager's stays, with one added", "env: another manager's stays", "finalizers: another manager's stays", "service ports: another manager's stays"},
		},
		"ignores unions": {
			func(base, manifest, live []byte, place schema.Schema) ([]byte, error) {
				return threeWay(base, manifest, live, schema.WithoutRetainKeys(place))
			},
			[]string{"the strategy: a defaulted field is removed with the type", "volumes: a type is switched after another manager chose a third"},
		},
		"reverses lists": {
			spoiled(reverse),
			[]string{"env: another manager's stays", "containers: the order changes", "finalizers: another manager's stays", "rules of a role are atomic", "custom: a set loses another manager's"},
		},
		"does not write last-applied": {
			spoiled(forgetLastApplied),
			[]string{"a field is changed", "the manifest adopts another manager's value, nothing changes"},
		},
	} {
		for _, sentence := range c.edits {
			t.Run(wrong+": "+sentence, func(t *testing.T) {
				t.Parallel()
				e, ok := all[sentence]
				if !ok {
					t.Fatal("unknown edit")
				}
				o, err := newStage(t, e).play(c.merge)
				if err != nil {
					t.Fatal(err)
				}
				if o.differs() == "" {
					t.Error("the error is not detected")
				}
			})
		}
	}
}

func setsOnlyChanges(base, manifest, live []byte, place schema.Schema) ([]byte, error) {
	var before, after map[string]any
	if err := errors.Join(utiljson.Unmarshal(base, &before), utiljson.Unmarshal(manifest, &after)); err != nil {
		return nil, fmt.Errorf("parsing the manifests: %w", err)
	}
	onlyNew, err := json.Marshal(withoutBase(before, after))
	if err != nil {
		return nil, fmt.Errorf("encoding the manifest: %w", err)
	}
	return threeWay([]byte("{}"), onlyNew, live, place)
}

// withoutBase returns a manifest without the values that equal the base.
func withoutBase(base, manifest map[string]any) map[string]any {
	left := map[string]any{}
	for name, value := range manifest {
		had, inBase := base[name]
		inner, isObject := value.(map[string]any)
		before, wasObject := had.(map[string]any)
		switch {
		case isObject && wasObject:
			left[name] = withoutBase(before, inner)
		case !inBase || !cmp.Equal(had, value):
			left[name] = value
		}
	}
	return left
}

// spoiled returns a merger that changes each object and list of the result.
func spoiled(spoil func(value any)) merger {
	return func(base, manifest, live []byte, place schema.Schema) ([]byte, error) {
		text, err := threeWay(base, manifest, live, place)
		if err != nil {
			return nil, err
		}
		var result any
		if err := utiljson.Unmarshal(text, &result); err != nil {
			return nil, fmt.Errorf("parsing the result of the merge: %w", err)
		}
		everywhere(result, spoil)
		return json.Marshal(result)
	}
}

func everywhere(value any, spoil func(value any)) {
	spoil(value)
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			everywhere(inner, spoil)
		}
	case []any:
		for _, inner := range v {
			everywhere(inner, spoil)
		}
	}
}

func reverse(value any) {
	if list, ok := value.([]any); ok {
		slices.Reverse(list)
	}
}

func forgetLastApplied(value any) {
	if object, ok := value.(map[string]any); ok {
		delete(object, corev1.LastAppliedConfigAnnotation)
	}
}
