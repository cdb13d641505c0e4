package twoway_test

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/kustomize/kyaml/yaml/walk"

	"github.com/ownership-handoff/handoff/internal/expect"
	"github.com/ownership-handoff/handoff/internal/jsontest"
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
	check(t, "kyaml", c.want, kyaml, err)
	got, err := c.merge(t)
	check(t, "merge", c.want, got, err)
}

// merge returns the decoded result of Merge.
func (c twoWayCase) merge(t *testing.T) (any, error) {
	t.Helper()
	place := kinds(c.infer)
	if c.keys != nil {
		place = &twoway.Inferred{Keys: c.keys}
	}
	return mergeDecoded(t, decodeYAML(t, c.manifest), decodeYAML(t, c.live), place, twoway.Options{Order: c.order})
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
	expect.NoError(t, yaml.Unmarshal([]byte(text), &value))
	return decodeJSON(t, jsontest.Encode(t, value))
}

func decodeJSON(tb testing.TB, text []byte) any {
	tb.Helper()
	var value any
	expect.NoError(tb, json.Unmarshal(text, &value))
	return value
}
