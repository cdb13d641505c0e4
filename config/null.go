package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// refuseNulls refuses null as an element of a list: the decoder drops it without a word, and whoever wrote "- " without
// anything behind it, or "~", has meant something. The path is that of the node, as the error names it.
func refuseNulls(node *yaml.Node, path string) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for i, child := range node.Content {
		at := path
		switch node.Kind {
		case yaml.SequenceNode:
			at = fmt.Sprintf("%s[%d]", path, i)
			if isNull(child) {
				return fmt.Errorf("line %d: %s: it is null; write a value, or delete the element", child.Line, at)
			}
		case yaml.MappingNode:
			if i%2 == 0 {
				continue // a name
			}
			at = strings.TrimPrefix(path+"."+node.Content[i-1].Value, ".")
		default:
		}
		if err := refuseNulls(child, at); err != nil {
			return err
		}
	}
	return nil
}

func isNull(node *yaml.Node) bool {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node.ShortTag() == "!!null"
}
