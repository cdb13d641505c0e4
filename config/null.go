package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// rejectNulls returns an error for a null element of a list: the decoder would silently drop it, and a "- " without a value, or
// a "~", is most likely a mistake. The path is the node's, for the error.
func rejectNulls(node *yaml.Node, path string) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for i, child := range node.Content {
		at := path
		switch node.Kind {
		case yaml.SequenceNode:
			at = fmt.Sprintf("%s[%d]", path, i)
			if isNull(child) {
				return fmt.Errorf("line %d: %s: must not be null; write a value, or delete the element", child.Line, at)
			}
		case yaml.MappingNode:
			if i%2 == 0 {
				continue // a name
			}
			at = strings.TrimPrefix(path+"."+node.Content[i-1].Value, ".")
		default:
		}
		if err := rejectNulls(child, at); err != nil {
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
