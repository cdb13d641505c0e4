package twoway_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/kustomize/kyaml/yaml/walk"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/internal/require"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// twoWayCase is a merge and its result, in YAML. An empty want means that the merge deletes the whole object.
type twoWayCase struct {
	manifest, live, want string
	infer                bool
	keys                 []string // to infer; nil for kyaml's
	order                twoway.ListOrder
}

// run checks the case against kyaml first, and then merge against the case.
func (c twoWayCase) run(t *testing.T) {
	t.Helper()
	kyaml, err := kyamlMerge(t, yaml.MustParse(c.manifest), yaml.MustParse(c.live), c.infer, c.order)
	require.NoError(t, err)
	want := decodeYAML(t, c.want)
	if diff := cmp.Diff(want, kyaml); diff != "" {
		t.Errorf("kyaml (-want +got):\n%s", diff)
	}
	got, err := c.merge(t)
	require.NoError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merge (-want +got):\n%s", diff)
	}
}

// merge returns the decoded result of Merge.
func (c twoWayCase) merge(t *testing.T) (any, error) {
	t.Helper()
	return mergeDecoded(t, decodeYAML(t, c.manifest), decodeYAML(t, c.live), c.place(), twoway.Options{Order: c.order})
}

func (c twoWayCase) place() schema.Schema {
	if c.keys != nil {
		return &twoway.Inferred{Keys: c.keys}
	}
	return kinds(c.infer)
}

func mergeDecoded(t *testing.T, manifest, live any, place schema.Schema, options twoway.Options) (any, error) {
	t.Helper()
	text, err := twoway.Merge(jsontest.Encode(t, manifest), jsontest.Encode(t, live), place, options)
	if err != nil {
		return nil, err
	}
	return decodeJSON(t, text), nil
}

// kyamlMerge returns kyaml's merge of two nodes, which it changes, as decoded JSON.
func kyamlMerge(t *testing.T, manifest, live *yaml.RNode, infer bool, order twoway.ListOrder) (any, error) {
	t.Helper()
	var options yaml.MergeOptions
	if order == twoway.ManifestFirst {
		options.ListIncreaseDirection = yaml.MergeOptionsListPrepend
	}
	result, err := walk.Walker{
		Sources:               []*yaml.RNode{live, manifest},
		Visitor:               merge2.Merger{},
		InferAssociativeLists: infer,
		MergeOptions:          options,
	}.Walk()
	if err != nil || result == nil {
		return nil, err
	}
	var value any
	if err := result.YNode().Decode(&value); err != nil {
		return nil, err
	}
	return decodeJSON(t, jsontest.Encode(t, value)), nil
}

func decodeYAML(t *testing.T, text string) any {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(text), &value))
	return decodeJSON(t, jsontest.Encode(t, value))
}

func decodeJSON(tb testing.TB, text []byte) any {
	tb.Helper()
	var value any
	require.NoError(tb, json.Unmarshal(text, &value))
	return value
}
