package printable

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML returns JSON text as YAML in which characters that are not printable are escaped.
func YAML(json string) (string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(escape(json, "\n", yamlEscape)), &document); err != nil {
		return "", fmt.Errorf("quoting YAML: %w", err)
	}
	restyle(&document)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return "", fmt.Errorf("quoting YAML: %w", err)
	}
	return escape(b.String(), "\n", yamlEscape), nil
}

// restyle changes JSON's flow style to block style, and quotes scalars only if necessary.
func restyle(node *yaml.Node) {
	switch {
	case node.Kind == yaml.ScalarNode && Text(node.Value) != node.Value:
		node.Style = yaml.DoubleQuotedStyle
	case len(node.Content) > 0 || node.Kind == yaml.ScalarNode:
		node.Style = 0
	}
	for _, part := range node.Content {
		restyle(part)
	}
}

func yamlEscape(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return jsonEscape(r)
}
