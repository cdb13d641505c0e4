package threeway

import (
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// object merges a manifest's object into live's. base is nil if the base has no object for the field.
func (m *merger) object(base, manifest, live *node, place schema.Schema) (*node, error) {
	base = sameAs(base, manifest)
	strategy := place.Strategy().Object
	out := jsonnode.Builder{Live: live}
	for i := range manifest.Children {
		want := &manifest.Children[i]
		at := live.Find(want.Name, i)
		f := field{base: base.Field(want.Name, i), manifest: &want.Node, place: place.Field(want.Name)}
		if at >= 0 {
			f.live = &live.Children[at].Node
		}
		m.at.Enter(step{Name: want.Name})
		result, err := m.field(f, strategy == schema.MergePatchFields)
		if err != nil {
			return nil, err
		}
		m.at.Leave()
		out.Put(at, want.Name, result)
	}
	if err := m.dropMembers(&out, base, manifest, place); err != nil {
		return nil, err
	}
	if strategy == schema.RetainKeys {
		m.retainKeys(&out, base, manifest, place)
	}
	return out.Done(), nil
}

// sameAs returns the base's value, or the manifest's if their texts are equal, so that the merge compares them only once.
func sameAs(base, manifest *node) *node {
	if base != nil && base.Text == manifest.Text {
		return manifest
	}
	return base
}

// dropMembers deletes the members that the base has and the manifest lacks.
func (m *merger) dropMembers(out *jsonnode.Builder, base, manifest *node, place schema.Schema) error {
	if base == nil || base == manifest {
		return nil
	}
	if err := m.baseDirective(base, manifest, place); err != nil {
		return err
	}
	for i := range base.Children {
		name := base.Children[i].Name
		if manifest.Find(name, i) >= 0 {
			continue
		}
		at := out.Live.Find(name, i)
		if at < 0 {
			continue
		}
		m.at.Enter(step{Name: name})
		m.record(Deleted, &out.Live.Children[at].Node, nil)
		m.at.Leave()
		out.Put(at, name, nil)
	}
	return nil
}

// retainKeys clears every member of live that the manifest does not set: the object is a union, and the manifest sets another
// member. It does nothing if the manifest sets no member, or if live's other members are all null and upstream's patch would be
// empty.
func (m *merger) retainKeys(out *jsonnode.Builder, base, manifest *node, place schema.Schema) {
	retained := func(name string, guess int) bool {
		at := manifest.Find(name, guess)
		return at >= 0 && manifest.Children[at].Node.Kind != 'n'
	}
	values, nulls := false, false
	for i := range out.Live.Children {
		if member := &out.Live.Children[i]; !retained(member.Name, i) {
			values, nulls = values || member.Node.Kind != 'n', nulls || member.Node.Kind == 'n'
		}
	}
	patched := func() bool { return out.IsEdited() || differs(manifest, out.Live) || drops(base, manifest, place) }
	if extra := values || nulls && patched(); !setsMember(manifest) || !extra {
		return
	}
	for i := range out.Live.Children {
		member := &out.Live.Children[i]
		if out.Has(i) && !retained(member.Name, i) {
			m.at.Enter(step{Name: member.Name})
			m.record(Cleared, &member.Node, nil)
			m.at.Leave()
			out.Put(i, member.Name, nil)
		}
	}
}

// setsMember reports whether a manifest's object sets any member.
func setsMember(manifest *node) bool {
	return slices.ContainsFunc(manifest.Children, func(c member) bool { return c.Node.Kind != 'n' })
}

// differs reports whether a manifest's object has a member that live's lacks, or with another value.
func differs(manifest, live *node) bool {
	if manifest.Kind != '{' || live.Kind != '{' {
		return !jsonnode.Equal(manifest, live)
	}
	for i := range manifest.Children {
		had := live.Field(manifest.Children[i].Name, i)
		if had == nil || differs(&manifest.Children[i].Node, had) {
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
