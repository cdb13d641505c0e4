package merge

import "strings"

// object merges a manifest's object into that of live. Base is nil where it has no object there.
func (m *merger) object(base, manifest, live *node, schema Schema) (node, error) {
	if unchanged(manifest, live) {
		return *live, nil
	}
	if base != nil && base.text != "" && base.text == manifest.text {
		base = manifest // which is open
	}
	manifest.open()
	live.open()
	out := builder{live: live}
	for i := range manifest.children {
		want := &manifest.children[i]
		if isPatchDirective(want.name) {
			return node{}, m.wrong(inManifest, ErrDirective, "%s", want.name)
		}
		at := live.find(want.name, i)
		f := field{base: base.field(want.name, i), manifest: &want.node, schema: schema.Field(want.name)}
		if at >= 0 {
			f.live = &live.children[at].node
		}
		m.enter(step{name: want.name})
		result, err := m.field(f, schema.Strategy().Object == MergePatchFields)
		m.leave()
		if err != nil {
			return node{}, err
		}
		out.put(at, want.name, result)
	}
	if err := m.letGo(&out, base, manifest, schema); err != nil {
		return node{}, err
	}
	if schema.Strategy().Object == RetainKeys {
		m.retainKeys(&out, manifest)
	}
	return out.done(), nil
}

// unchanged says whether live has an object as the manifest writes it, and nothing that a null could clear.
func unchanged(manifest, live *node) bool {
	return manifest.text != "" && manifest.text == live.text && !strings.Contains(live.text, "null")
}

// letGo takes away what the base has and the manifest lacks.
func (m *merger) letGo(out *builder, base, manifest *node, schema Schema) error {
	if base == nil || base == manifest {
		return nil
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
		left, err := m.remove(removal{live: &out.live.children[at].node, base: &base.children[i].node, schema: schema.Field(name)})
		m.leave()
		if err != nil {
			return err
		}
		out.put(at, name, left)
	}
	return nil
}

// retainKeys takes away every member of live that the manifest does not set: the object is a union, and the manifest has
// chosen. It does nothing while the manifest chooses nothing, nor about mere nulls of live while nothing else changes.
func (m *merger) retainKeys(out *builder, manifest *node) {
	chosen, extra := false, out.edited
	for i := range manifest.children {
		chosen = chosen || manifest.children[i].kind != 'n'
	}
	retained := func(name string, guess int) bool {
		at := manifest.find(name, guess)
		return at >= 0 && manifest.children[at].kind != 'n'
	}
	for i := range out.live.children {
		member := &out.live.children[i]
		extra = extra || member.kind != 'n' && !retained(member.name, i)
	}
	if !chosen || !extra {
		return
	}
	for i := range out.live.children {
		member := &out.live.children[i]
		if out.has(i) && !retained(member.name, i) {
			m.enter(step{name: member.name})
			m.record(FieldCleared, &member.node, nil, nobody(), 0)
			m.leave()
			out.put(i, member.name, node{})
		}
	}
}

// isPatchDirective says whether a field is an instruction to strategicpatch rather than a part of the object.
func isPatchDirective(name string) bool {
	if name == "" || name[0] != '$' {
		return false
	}
	return name == "$patch" || name == "$retainKeys" || strings.HasPrefix(name, "$setElementOrder/") ||
		strings.HasPrefix(name, "$deleteFromPrimitiveList/")
}
