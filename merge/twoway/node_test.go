package twoway_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// nodeOf returns the YAML node as which kyaml would read decoded JSON.
func nodeOf(value any) *yaml.Node {
	switch v := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			node.Content = append(node.Content, nodeOf(name), nodeOf(v[name]))
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		for _, element := range v {
			node.Content = append(node.Content, nodeOf(element))
		}
		return node
	case string:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: v, Style: yaml.DoubleQuotedStyle}
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagBool, Value: strconv.FormatBool(v)}
	case float64:
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagFloat, Value: strconv.FormatFloat(v, 'f', -1, 64)}
		if v == float64(int64(v)) {
			node.Tag = yaml.NodeTagInt
		}
		return node
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagNull, Value: "null"}
	}
}

// plainJSON converts a value decoded from YAML into decoded JSON.
func plainJSON(tb testing.TB, value any) any {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		tb.Fatal(err)
	}
	return plain
}
