package release

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ownership-handoff/handoff/source"
)

// widen goes from places to what they are in, where nothing else is: up to, and not including, an element of a list. Each place
// is returned once, in the order of the document.
func widen(places []*place) []*place {
	gone := map[*yaml.Node]bool{}
	var wide []*place
	for _, at := range places {
		gone[at.node] = true
	}
	for _, at := range places {
		for at.in != nil && at.in.key != nil && !at.shared && allGone(resolve(at.in.node), gone) {
			at = at.in
			gone[at.node] = true
		}
		wide = append(wide, at)
	}
	wide = slices.DeleteFunc(wide, func(at *place) bool { // what another place, found later, holds as well
		for in := at.in; in != nil; in = in.in {
			if gone[in.node] {
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(wide, func(a, b *place) int { return a.line() - b.line() })
	return slices.CompactFunc(wide, func(a, b *place) bool { return a.node == b.node })
}

func allGone(container *yaml.Node, gone map[*yaml.Node]bool) bool {
	step := 1
	if container.Kind == yaml.MappingNode {
		step = 2
	}
	for i := step - 1; i < len(container.Content); i += step {
		if !gone[container.Content[i]] {
			return false
		}
	}
	return true
}

func (at *place) line() int {
	if at.key != nil {
		return at.key.Line
	}
	return at.node.Line
}

// sentence says what to delete there.
func (at *place) sentence(m source.Text) string {
	lines := strconv.Itoa(at.line())
	if last := at.last(m.Content); last > at.line() {
		lines += fmt.Sprintf("-%d", last)
	}
	sentence := fmt.Sprintf("%s:%s: delete %q", m.Name, lines, at.snippet())
	if at.shared {
		sentence += "; an anchor stands there, which others use as well"
	}
	return sentence
}

// snippet is how the place begins, enough to know it by.
func (at *place) snippet() string {
	switch {
	case at.hidden && at.key == nil:
		return "-"
	case at.hidden:
		return at.key.Value + ":"
	case at.key == nil && at.node.Kind == yaml.ScalarNode:
		return "- " + at.node.Value
	case at.key == nil:
		for i := 0; i+1 < len(at.node.Content); i += 2 {
			if at.node.Content[i+1].Kind == yaml.ScalarNode {
				return "- " + at.node.Content[i].Value + ": " + at.node.Content[i+1].Value
			}
		}
		return "-"
	case at.node.Kind == yaml.ScalarNode && at.node.Line == at.key.Line && at.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0:
		return at.key.Value + ": " + at.node.Value
	default:
		return at.key.Value + ":"
	}
}

// last returns the last line of the place. A block's is told by how far its lines are indented, as YAML tells it; anything
// else ends where the last of its nodes begins.
func (at *place) last(document []byte) int {
	if at.key == nil || !at.isBlock() {
		return max(at.line(), lastOf(at.node))
	}
	lines := strings.Split(string(document), "\n")
	last := at.line()
	for i := last; i < len(lines); i++ {
		content := strings.TrimSpace(lines[i])
		indent := len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
		// The elements of a list can stand as far out as its key.
		element := at.node.Kind == yaml.SequenceNode && strings.HasPrefix(content+" ", "- ") && indent == at.key.Column-1
		if content != "" && indent < at.key.Column && !element {
			break
		}
		if content != "" {
			last = i + 1
		}
	}
	return last
}

// isBlock says whether the place is written as indented lines below its key.
func (at *place) isBlock() bool {
	if at.node.Kind == yaml.ScalarNode {
		return at.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	}
	return at.node.Kind != yaml.AliasNode && at.node.Style&yaml.FlowStyle == 0 && at.node.Line != at.key.Line
}

func lastOf(node *yaml.Node) int {
	last := node.Line
	for _, inner := range node.Content {
		last = max(last, lastOf(inner))
	}
	return last
}
