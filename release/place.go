package release

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/source"
)

// place is where a field or an element stands in a document.
type place struct {
	in   *place     // what it is in; nil for the document
	key  *yaml.Node // of a field; nil for an element
	node *yaml.Node
	// shared says that an alias or a merge key leads to it: others use it as well.
	shared bool
	// hidden says that its value is not to be shown.
	hidden bool
}

// follow returns where a path leads in a document, nil where nowhere.
func follow(document *yaml.Node, path fieldpath.Path) *place {
	at := &place{node: document}
	for _, element := range path {
		if at = at.step(element); at == nil {
			return nil
		}
	}
	return at
}

func (at *place) step(element fieldpath.PathElement) *place {
	node := resolve(at.node)
	shared := at.shared || node != at.node
	if element.FieldName != nil {
		key, found, merged := member(node, *element.FieldName)
		if found == nil {
			return nil
		}
		return &place{in: at, key: key, node: found, shared: shared || merged}
	}
	if node.Kind != yaml.SequenceNode {
		return nil
	}
	for i, item := range node.Content {
		if isElement(resolve(item), i, element) {
			return &place{in: at, node: item, shared: shared}
		}
	}
	return nil
}

func isElement(item *yaml.Node, index int, element fieldpath.PathElement) bool {
	switch {
	case element.Index != nil:
		return *element.Index == index
	case element.Value != nil:
		return sameScalar(item, *element.Value)
	case element.Key == nil:
		return false
	}
	for _, key := range *element.Key {
		_, found, _ := member(item, key.Name)
		switch {
		case found != nil && !sameScalar(resolve(found), key.Value):
			return false
		case found == nil && (key.Name != "protocol" || !key.Value.IsString() || key.Value.AsString() != "TCP"):
			return false // the protocol of a port has a default
		}
	}
	return true
}

func sameScalar(node *yaml.Node, want value.Value) bool {
	var is any
	if node.Kind != yaml.ScalarNode || node.Decode(&is) != nil {
		return false
	}
	return value.Equals(value.NewValueInterface(is), want)
}

// member returns the key and the value of a mapping's field, and whether a merge key leads to it.
func member(node *yaml.Node, name string) (key, found *yaml.Node, merged bool) {
	if node.Kind != yaml.MappingNode {
		return nil, nil, false
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i], node.Content[i+1], false
		}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Tag != "!!merge" {
			continue
		}
		from := []*yaml.Node{resolve(node.Content[i+1])}
		if from[0].Kind == yaml.SequenceNode {
			from = from[0].Content
		}
		for _, other := range from {
			if key, found, _ := member(resolve(other), name); found != nil {
				return key, found, true
			}
		}
	}
	return nil, nil, false
}

func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func child(node *yaml.Node, name string) *yaml.Node {
	_, found, _ := member(resolve(node), name)
	if found == nil {
		return nil
	}
	return resolve(found)
}

func text(node *yaml.Node, names ...string) string {
	for _, name := range names {
		if node = child(node, name); node == nil {
			return ""
		}
	}
	return node.Value
}

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
	lines := fmt.Sprint(at.line())
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
	first := at.key
	if first == nil {
		return lastOf(at.node)
	}
	block := at.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 ||
		at.node.Style&yaml.FlowStyle == 0 && (at.node.Kind == yaml.MappingNode || at.node.Kind == yaml.SequenceNode)
	if !block || at.node.Line == first.Line && at.node.Kind != yaml.ScalarNode {
		return max(first.Line, lastOf(at.node))
	}
	lines := bytes.Split(document, []byte("\n"))
	last := first.Line
	for i := first.Line; i < len(lines); i++ {
		line := strings.TrimRight(string(lines[i]), " \t\r")
		content := strings.TrimLeft(line, " ")
		indent := len(line) - len(content)
		dash := at.node.Kind == yaml.SequenceNode && (content == "-" || strings.HasPrefix(content, "- "))
		switch {
		case content == "":
			continue
		case indent >= first.Column || dash && indent == first.Column-1:
			last = i + 1
		default:
			return last
		}
	}
	return last
}

func lastOf(node *yaml.Node) int {
	last := node.Line
	for _, inner := range node.Content {
		last = max(last, lastOf(inner))
	}
	return last
}
