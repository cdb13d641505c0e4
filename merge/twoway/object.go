package twoway

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// object merges the manifest's object over live's.
func (m merger) object(manifest, live *node, place schema.Schema) (node, error) {
	switch d, err := directiveOf(manifest); {
	case err != nil || d == deletes:
		return node{}, err
	case d == replaces:
		return m.fields(manifest, &node{Kind: '{'}, schemaOf(place, live, manifest))
	default:
		return m.fields(manifest, live, place)
	}
}

// newObject returns the manifest's object for a field that live lacks: without directives and nulls, at any depth.
func (m merger) newObject(manifest *node, place schema.Schema) (node, error) {
	if d, err := directiveOf(manifest); err != nil || d == deletes {
		return node{}, err
	}
	return m.fields(manifest, &node{Kind: '{'}, place)
}

// fields merges the manifest's fields over live's.
func (m merger) fields(manifest, live *node, place schema.Schema) (node, error) {
	if err := checkNames(manifest, inManifest); err != nil {
		return node{}, err
	}
	if err := checkNames(live, inLive); err != nil {
		return node{}, err
	}
	place = schemaOf(place, live, manifest)
	merged := jsonnode.Builder{Live: live}
	for i := range manifest.Children {
		want := &manifest.Children[i]
		if want.Name == patchDirective {
			continue
		}
		at, had := live.Find(want.Name, i), (*node)(nil)
		if at >= 0 && !live.Children[at].Node.Absent() {
			had = &live.Children[at].Node
		}
		value, err := m.field(&want.Node, had, place.Field(want.Name))
		if err != nil {
			return node{}, under(err, fieldpath.FieldNameElement(want.Name))
		}
		merged.Put(at, want.Name, value)
	}
	return merged.Done(), nil
}

// checkNames opens an object. It returns ErrEmptyName if it has a field with an empty name, which kyaml cannot find.
func checkNames(object *node, side string) error {
	object.Open()
	if object.Field("", 0) != nil {
		return &InputError{Input: side, Err: ErrEmptyName}
	}
	return nil
}
