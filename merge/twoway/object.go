package twoway

import (
	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// object merges the manifest's object over live's, without directives and nulls.
func (m *merger) object(manifest, live *node, place schema.Schema) (*node, error) {
	switch d, err := m.directiveOf(manifest); {
	case err != nil || d == deletes:
		return nil, err
	case d == replaces:
		return m.fields(manifest, &node{Kind: '{'}, schemaOf(place, live, manifest))
	default:
		return m.fields(manifest, live, place)
	}
}

// fields merges the manifest's fields over live's.
func (m *merger) fields(manifest, live *node, place schema.Schema) (*node, error) {
	if err := m.checkNames(manifest, inManifest); err != nil {
		return nil, err
	}
	if err := m.checkNames(live, inLive); err != nil {
		return nil, err
	}
	place = schemaOf(place, live, manifest)
	merged := jsonnode.Builder{Live: live}
	for i := range manifest.Children {
		want := &manifest.Children[i]
		if want.Name == patchDirective {
			continue
		}
		at, had := live.Find(want.Name, i), (*node)(nil)
		if at >= 0 && !live.Children[at].Node.IsAbsent() {
			had = &live.Children[at].Node
		}
		m.at.Enter(step{Name: want.Name})
		value, err := m.over(&want.Node, had, place.Field(want.Name))
		if err != nil {
			return nil, err
		}
		m.at.Leave()
		merged.Put(at, want.Name, value)
	}
	return merged.Done(), nil
}

// checkNames returns ErrEmptyName if an object has a field with an empty name, which kyaml cannot find.
func (m *merger) checkNames(object *node, side string) error {
	if object.Field("", 0) != nil {
		return &InputError{Input: side, Path: m.at.FieldPath(), Err: ErrEmptyName}
	}
	return nil
}
