package threeway

import (
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// object merges a manifest's object into live's. base is nil if the base has no object for the field.
func (m *merger) object(base, manifest, live *node, place schema.Schema) (node, error) {
	if m.direct(manifest, live, place) {
		merged, err := m.decodedObject(base.object(), manifest.object(), live.object(), place)
		return node{kind: '{', decoded: true, value: merged}, err
	}
	if base != nil && base.text != "" && base.text == manifest.text {
		base = manifest // which is open
	}
	if unchanged(manifest, live) {
		if base == nil || base == manifest {
			return *live, m.examine(manifest, place)
		}
		live.opened, live.children = true, manifest.children
	}
	manifest.open()
	live.open()
	strategy := place.Strategy().Object
	out := builder{live: live}
	for i := range manifest.children {
		want := &manifest.children[i]
		at := live.find(want.name, i)
		f := field{base: base.field(want.name, i), manifest: &want.node, place: place.Field(want.name)}
		if at >= 0 {
			f.live = &live.children[at].node
		}
		m.enter(step{name: want.name})
		result, err := m.field(f, strategy == schema.MergePatchFields)
		m.leave()
		if err != nil {
			return node{}, err
		}
		out.put(at, want.name, result)
	}
	if err := m.dropMembers(&out, base, manifest, place); err != nil {
		return node{}, err
	}
	if strategy == schema.RetainKeys {
		m.retainKeys(&out, base, manifest, place)
	}
	return out.done(), nil
}

// unchanged reports whether live has the manifest's text, without nulls.
func unchanged(manifest, live *node) bool {
	return manifest.text != "" && manifest.text == live.text && !strings.Contains(live.text, "null")
}

// dropMembers deletes the members that the base has and the manifest lacks.
func (m *merger) dropMembers(out *builder, base, manifest *node, place schema.Schema) error {
	if base == nil || base == manifest {
		return nil
	}
	if place.Strategy().Object != schema.MergePatchFields {
		if err := m.baseDirective(base, manifest); err != nil {
			return err
		}
	}
	base.open()
	for i := range base.children {
		name := base.children[i].name
		if manifest.find(name, i) >= 0 {
			continue
		}
		at := out.live.find(name, i)
		if at < 0 {
			continue
		}
		m.enter(step{name: name})
		left, err := m.remove(removal{live: &out.live.children[at].node, place: place.Field(name)})
		m.leave()
		if err != nil {
			return err
		}
		out.put(at, name, left)
	}
	return nil
}

// retainKeys clears every member of live that the manifest does not set: the object is a union, and the manifest sets another
// member. It does nothing if the manifest sets no member, or if live's other members are all null and upstream's patch would be
// empty.
func (m *merger) retainKeys(out *builder, base, manifest *node, place schema.Schema) {
	retained := func(name string, guess int) bool {
		at := manifest.find(name, guess)
		return at >= 0 && manifest.children[at].node.kind != 'n'
	}
	values, nulls := false, false
	for i := range out.live.children {
		if member := &out.live.children[i]; !retained(member.name, i) {
			values, nulls = values || member.node.kind != 'n', nulls || member.node.kind == 'n'
		}
	}
	chosen := slices.ContainsFunc(manifest.children, func(c member) bool { return c.node.kind != 'n' })
	patched := func() bool { return out.edited || differs(manifest, out.live) || drops(base, manifest, place) }
	if extra := values || nulls && patched(); !chosen || !extra {
		return
	}
	for i := range out.live.children {
		member := &out.live.children[i]
		if out.has(i) && !retained(member.name, i) {
			m.enter(step{name: member.name})
			m.record(Cleared, &member.node, nil)
			m.leave()
			out.put(i, member.name, node{})
		}
	}
}

// differs reports whether a manifest's object has a member that live's lacks, or with another value.
func differs(manifest, live *node) bool {
	if manifest.kind != '{' || live.kind != '{' {
		return !equal(manifest, live)
	}
	manifest.open()
	for i := range manifest.children {
		had := live.field(manifest.children[i].name, i)
		if had == nil || differs(&manifest.children[i].node, had) {
			return true
		}
	}
	return false
}

// isPatchDirective reports whether a field is a directive of a strategic merge patch rather than a part of the object.
func isPatchDirective(name string) bool {
	if name == "" || name[0] != '$' {
		return false
	}
	return name == "$patch" || name == "$retainKeys" || strings.HasPrefix(name, "$setElementOrder/") ||
		strings.HasPrefix(name, "$deleteFromPrimitiveList/")
}

// builder builds a merged object, and copies live's members before the first change.
type builder struct {
	live    *node
	members []member // once copied: live's members, followed by new ones
	edited  bool
}

// put sets the member at index at of live, or adds one if at is negative. A node without kind deletes the member.
func (b *builder) put(at int, name string, result node) {
	switch {
	case at < 0 && result.absent(), at >= 0 && same(&result, &b.live.children[at].node):
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

// has reports whether the result still has the member at index at of live.
func (b *builder) has(at int) bool { return !b.edited || !b.members[at].node.absent() }

// done returns the merged object: live itself if nothing has changed.
func (b *builder) done() node {
	if !b.edited {
		return *b.live
	}
	kept := b.members[:0]
	for _, c := range b.members {
		if !c.node.absent() {
			kept = append(kept, c)
		}
	}
	return node{kind: '{', decoded: b.live.decoded, opened: true, children: kept}
}

// same reports whether a result is live's value itself, not only an equal one.
func same(result, live *node) bool {
	if result.made() || result.kind != live.kind {
		return false
	}
	if !result.decoded {
		return result.text == live.text
	}
	if result.opened || live.opened {
		return result.opened == live.opened && len(result.children) == len(live.children) &&
			(len(live.children) == 0 || &result.children[0] == &live.children[0])
	}
	return identical(result.value, live.value)
}
