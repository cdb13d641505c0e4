package merge

// withoutNulls returns a value without the members that are null, at any depth. A null that is an element of a list stays.
func withoutNulls(n *node) node {
	if n.kind != '{' && n.kind != '[' {
		return *n
	}
	n.open()
	var out []member
	for i := range n.children {
		c := &n.children[i]
		clean := withoutNulls(&c.node)
		gone := n.kind == '{' && c.kind == 'n'
		if out == nil && (gone || clean.made() && !c.made()) {
			out = append(make([]member, 0, len(n.children)), n.children[:i]...)
		}
		if out != nil && !gone {
			out = append(out, member{c.name, clean})
		}
	}
	if out == nil {
		return *n
	}
	return node{kind: n.kind, decoded: n.decoded, opened: true, children: out}
}

// created returns the object that a JSON merge patch puts where live has none. A null leaves nothing behind but the
// object it stands in, and that only where it is news to the base. There is false where nothing is put at all: the
// manifest's object holds nulls only, all of them old.
func created(base, manifest *node) (result node, there bool) {
	if manifest.kind != '{' {
		return withoutNulls(manifest), true
	}
	if base != nil && base.kind != '{' {
		base = nil
	}
	manifest.open()
	there = len(manifest.children) == 0 || letsGoOfAny(base, manifest)
	out := make([]member, 0, len(manifest.children))
	for i := range manifest.children {
		c := &manifest.children[i]
		old := base.field(c.name, i)
		if c.kind == 'n' {
			there = there || old == nil || old.kind != 'n'
		} else if value, ok := created(old, &c.node); ok {
			out, there = append(out, member{c.name, value}), true
		}
	}
	return node{kind: '{', decoded: manifest.decoded, opened: true, children: out}, there
}

// letsGoOfAny says whether the base has a member that the manifest lacks.
func letsGoOfAny(base, manifest *node) bool {
	if base == nil {
		return false
	}
	base.open()
	for i := range base.children {
		if manifest.find(base.children[i].name, i) < 0 {
			return true
		}
	}
	return false
}
