package merge

// builder collects what becomes of an object's members, and copies them only when that is something else.
type builder struct {
	live    *node
	members []member // of live, once copied, and behind them those that live lacks
	edited  bool
}

// put says what becomes of the member that live has at a place, or lacks where at is negative. A node without kind takes
// it away.
func (b *builder) put(at int, name string, result node) {
	switch {
	case at < 0 && result.kind == 0, at >= 0 && same(&result, &b.live.children[at].node):
		return
	case !b.edited:
		b.members = make([]member, len(b.live.children), len(b.live.children)+1)
		copy(b.members, b.live.children)
		b.edited = true
	}
	if at < 0 {
		b.members = append(b.members, member{name, result})
		return
	}
	b.members[at].node = result
}

// has says whether the member that live has at a place is still there.
func (b *builder) has(at int) bool { return !b.edited || b.members[at].kind != 0 }

// done returns the object: live itself where nothing became of it.
func (b *builder) done() node {
	if !b.edited {
		return *b.live
	}
	kept := b.members[:0]
	for _, c := range b.members {
		if c.kind != 0 {
			kept = append(kept, c)
		}
	}
	return node{kind: '{', decoded: b.live.decoded, opened: true, children: kept}
}

// same says whether a result is the very value that live has, not just an equal one.
func same(result, live *node) bool {
	if result.made() || result.kind != live.kind {
		return false
	}
	if !result.decoded {
		return result.text == live.text
	}
	if result.kind == '{' || result.kind == '[' {
		return result.opened == live.opened && len(result.children) == len(live.children) &&
			(len(live.children) == 0 || &result.children[0] == &live.children[0])
	}
	return result.value == live.value
}
