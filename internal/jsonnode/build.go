package jsonnode

import "reflect"

// Builder builds a merged object. It copies the members of Live, which is open, before the first change. If a merge has made
// Live, the Builder changes Live itself, so that any number of merges into one object takes linear time.
type Builder struct {
	Live   *Node
	edited bool
	made   Node // once edited, if Live is an input: a copy of it, with the changes
}

// Put sets the member at index at of Live, or adds one if at is negative. An absent node deletes the member.
func (b *Builder) Put(at int, name string, result Node) {
	if at < 0 && result.Absent() || at >= 0 && Same(&result, &b.Live.Children[at].Node) {
		return
	}
	if !b.edited && !b.Live.IsMade() {
		b.made = Node{Kind: '{', sorted: b.Live.sorted, Children: append(make([]Member, 0, len(b.Live.Children)+1), b.Live.Children...)}
	}
	b.edited = true
	out := b.out()
	if at >= 0 {
		out.Children[at].Node = result
		return
	}
	if out.index != nil {
		out.index[name] = len(out.Children)
	}
	out.Children, out.sorted = append(out.Children, Member{name, result}), false
}

func (b *Builder) out() *Node {
	if !b.edited || b.Live.IsMade() {
		return b.Live
	}
	return &b.made
}

// Edited reports whether anything was put that Live does not have.
func (b *Builder) Edited() bool { return b.edited }

// Has reports whether the result still has the member at index at of Live.
func (b *Builder) Has(at int) bool { return !b.out().Children[at].Node.Absent() }

// Done returns the merged object: Live itself if nothing has changed.
func (b *Builder) Done() Node { return *b.out() }

// Same reports whether a result is live's value itself, not only an equal one.
func Same(result, live *Node) bool {
	if result.IsMade() || result.Kind != live.Kind || result.Text != live.Text {
		return false
	}
	switch value := result.Value.(type) {
	case map[string]any:
		other, ok := live.Value.(map[string]any)
		return ok && reflect.ValueOf(value).UnsafePointer() == reflect.ValueOf(other).UnsafePointer()
	case []any:
		other, ok := live.Value.([]any)
		return ok && len(value) == len(other) && (len(value) == 0 || &value[0] == &other[0])
	default:
		return value == live.Value
	}
}
