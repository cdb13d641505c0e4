package jsonnode

// Builder builds a merged object. It copies the members of Live before the first change. If a merge has made
// Live, the Builder changes Live itself, so that any number of merges into one object takes linear time.
type Builder struct {
	Live *Node
	out  *Node // nil until something changes
}

// Put sets the member at index at of Live, or adds one if at is negative. A nil result deletes the member.
func (b *Builder) Put(at int, name string, result *Node) {
	if at < 0 && result == nil || at >= 0 && result == &b.Live.Children[at].Node {
		return
	}
	if b.out == nil {
		b.out = b.Live
		if !b.Live.IsMade() {
			b.out = &Node{Kind: '{', Children: append(make([]Member, 0, len(b.Live.Children)+1), b.Live.Children...)}
		}
	}
	switch out := b.out; {
	case at < 0:
		if out.index != nil {
			out.index[name] = len(out.Children)
		}
		out.Children = append(out.Children, Member{name, *result})
	case result == nil:
		out.Children[at].Node = Node{}
	default:
		out.Children[at].Node = *result
	}
}

// IsEdited reports whether anything was put that Live does not have.
func (b *Builder) IsEdited() bool { return b.out != nil }

// Has reports whether the result still has the member at index at of Live.
func (b *Builder) Has(at int) bool { return !b.Done().Children[at].Node.IsAbsent() }

// Done returns the merged object: Live itself if nothing has changed.
func (b *Builder) Done() *Node {
	if b.out == nil {
		return b.Live
	}
	return b.out
}
