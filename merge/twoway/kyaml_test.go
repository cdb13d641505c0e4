package twoway_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/kustomize/kyaml/yaml/walk"

	"github.com/ownership-handoff/handoff/internal/jsontest"
	"github.com/ownership-handoff/handoff/merge/schema"
	"github.com/ownership-handoff/handoff/merge/twoway"
)

// twoWayCase is a merge and its result, in YAML. An empty want means that the merge deletes the whole object.
type twoWayCase struct {
	manifest, live, want string
	infer                bool
	order                twoway.ListOrder
}

// run checks the case against kyaml first, and then merge against the case.
func (c twoWayCase) run(t *testing.T) {
	t.Helper()
	kyaml, err := kyamlMerge(yaml.MustParse(c.manifest), yaml.MustParse(c.live), c.infer, c.order)
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

// merge returns the result of Merge, and checks that it changes no input and that MergeJSON has the same result.
func (c twoWayCase) merge(t *testing.T) (any, error) {
	t.Helper()
	return mergeBothWays(t, decodeYAML(t, c.manifest), decodeYAML(t, c.live), kinds(c.infer), twoway.Options{Order: c.order})
}

func mergeBothWays(t *testing.T, manifest, live any, place schema.Schema, options twoway.Options) (any, error) {
	t.Helper()
	manifestText, liveText := string(jsontest.Encode(t, manifest)), string(jsontest.Encode(t, live))
	got, err := twoway.Merge(manifest, live, place, options)
	if text := string(jsontest.Encode(t, manifest)); text != manifestText {
		t.Fatalf("manifest has become %s, it was %s", text, manifestText)
	}
	if text := string(jsontest.Encode(t, live)); text != liveText {
		t.Fatalf("live has become %s, it was %s", text, liveText)
	}
	text, jsonErr := twoway.MergeJSON([]byte(manifestText), []byte(liveText), place, options)
	if diff := cmp.Diff(fmt.Sprint(err), fmt.Sprint(jsonErr)); diff != "" {
		t.Fatalf("error of TwoWayJSON (-TwoWay +got):\n%s", diff)
	}
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(string(jsontest.Encode(t, got)), string(jsontest.Encode(t, decodeJSON(t, text)))); diff != "" {
		t.Fatalf("TwoWayJSON (-TwoWay +got):\n%s", diff)
	}
	return got, nil
}

// kyamlMerge returns kyaml's merge of two nodes, which it changes, as decoded JSON.
func kyamlMerge(manifest, live *yaml.RNode, infer bool, order twoway.ListOrder) (any, error) {
	result, err := walk.Walker{
		Sources:               []*yaml.RNode{live, manifest},
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

func kyamlOptions(order twoway.ListOrder) yaml.MergeOptions {
	if order == twoway.ManifestFirst {
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
	return decodeJSON(t, []byte(string(jsontest.Encode(t, value))))
}

func decodeJSON(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
