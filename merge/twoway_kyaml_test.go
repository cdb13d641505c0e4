package merge_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/kustomize/kyaml/yaml/walk"

	"github.com/ownership-handoff/handoff/merge"
)

// twoWayCase is one merge whose result is known, all in YAML. An empty want is a merge that deletes the whole.
type twoWayCase struct {
	source, destination, want string
	infer                     bool
	order                     merge.ListOrder
	// schema is what merge goes by, where that is not what kyaml knows of the kinds.
	schema merge.Schema
}

// run checks the case against kyaml first, and then merge against the case.
func (c twoWayCase) run(t *testing.T) {
	t.Helper()
	kyaml, err := kyamlMerge(yaml.MustParse(c.source), yaml.MustParse(c.destination), c.infer, c.order)
	if err != nil {
		t.Fatal(err)
	}
	want := decodeYAML(t, c.want)
	if diff := cmp.Diff(want, kyaml); diff != "" {
		t.Errorf("kyaml (-want +got):\n%s", diff)
	}
	got, err := c.merge(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merge (-want +got):\n%s", diff)
	}
}

// merge returns what TwoWay makes of the case, having seen that it changes no input and that TwoWayJSON makes the same.
func (c twoWayCase) merge(t *testing.T) (any, error) {
	t.Helper()
	schema := c.schema
	if schema == nil {
		schema = kyamlSchema(c.infer)
	}
	return mergeBothWays(t, decodeYAML(t, c.source), decodeYAML(t, c.destination), schema, merge.TwoWayOptions{Order: c.order})
}

func mergeBothWays(t *testing.T, source, destination any, schema merge.Schema, options merge.TwoWayOptions) (any, error) {
	t.Helper()
	sourceText, destinationText := encode(t, source), encode(t, destination)
	got, err := merge.TwoWay(source, destination, schema, options)
	if text := encode(t, source); text != sourceText {
		t.Fatalf("source has become %s, it was %s", text, sourceText)
	}
	if text := encode(t, destination); text != destinationText {
		t.Fatalf("destination has become %s, it was %s", text, destinationText)
	}
	text, jsonErr := merge.TwoWayJSON([]byte(sourceText), []byte(destinationText), schema, options)
	if diff := cmp.Diff(fmt.Sprint(err), fmt.Sprint(jsonErr)); diff != "" {
		t.Fatalf("error of TwoWayJSON (-TwoWay +got):\n%s", diff)
	}
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(encode(t, got), encode(t, decodeJSON(t, text))); diff != "" {
		t.Fatalf("TwoWayJSON (-TwoWay +got):\n%s", diff)
	}
	return got, nil
}

// kyamlMerge returns what kyaml makes of two nodes, which it changes, as decoded JSON.
func kyamlMerge(source, destination *yaml.RNode, infer bool, order merge.ListOrder) (any, error) {
	result, err := walk.Walker{
		Sources:               []*yaml.RNode{destination, source},
		Visitor:               merge2.Merger{},
		InferAssociativeLists: infer,
		MergeOptions:          kyamlOptions(order),
	}.Walk()
	if err != nil || result == nil {
		return nil, err
	}
	var value any
	if err := result.YNode().Decode(&value); err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var plain any
	err = json.Unmarshal(text, &plain)
	return plain, err
}

func kyamlOptions(order merge.ListOrder) yaml.MergeOptions {
	if order == merge.SourceFirst {
		return yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListPrepend}
	}
	return yaml.MergeOptions{ListIncreaseDirection: yaml.MergeOptionsListAppend}
}

func decodeYAML(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return decodeJSON(t, []byte(encode(t, value)))
}

func decodeJSON(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
