package release

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/plugin/manifest"
)

// instruction returns the instruction to delete a place. The value is not shown if hidden is set.
func instruction(stream *manifest.Stream, at *manifest.Place, hidden bool) string {
	first, last := stream.Lines(at)
	lines := strconv.Itoa(first)
	if last > first {
		lines += fmt.Sprintf("-%d", last)
	}
	sentence := fmt.Sprintf("%s:%s: delete %q", stream.Name, lines, snippet(at, last > first, hidden))
	if stream.IsShared(at) {
		sentence += "; other parts of the file use it through an anchor"
	}
	return sentence
}

// snippet returns the beginning of the place, so that the reader can recognize it.
func snippet(at *manifest.Place, several, hidden bool) string {
	switch {
	case hidden && at.Key == nil:
		return "-"
	case hidden:
		return at.Key.Value + ":"
	case at.Key == nil && at.Node.Kind == yaml.ScalarNode && several:
		return "-"
	case at.Key == nil && at.Node.Kind == yaml.ScalarNode:
		return "- " + at.Node.Value
	case at.Key == nil:
		for i := 0; i+1 < len(at.Node.Content); i += 2 {
			if at.Node.Content[i+1].Kind == yaml.ScalarNode {
				return "- " + at.Node.Content[i].Value + ": " + at.Node.Content[i+1].Value
			}
		}
		return "-"
	case at.Node.Kind == yaml.ScalarNode && !several:
		return at.Key.Value + ": " + at.Node.Value
	default:
		return at.Key.Value + ":"
	}
}
