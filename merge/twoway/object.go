package twoway

import (
	"maps"

	"github.com/ownership-handoff/handoff/merge/schema"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// object merges the manifest's fields over live's. It does not modify live, but copies it before the first change.
func (m merger) object(manifest, live map[string]any, place schema.Schema) (any, outcome, error) {
	switch d, err := directiveOf(manifest); {
	case err != nil || d == deletes:
		return nil, gone, err
	case d == replaces:
		merged, err := m.fields(manifest, schemaOf(place, live, manifest))
		return merged, put, err
	}
	if err := checkNames(manifest, inManifest); err != nil {
		return nil, gone, err
	}
	if err := checkNames(live, inLive); err != nil {
		return nil, gone, err
	}
	place = schemaOf(place, live, manifest)
	merged := overlay{fields: live}
	var failed failure
	for name, from := range manifest {
		if name == patchDirective {
			continue
		}
		to, had := live[name]
		value, did, err := m.field(from, to, had, place.Field(name))
		failed.note(name, err)
		if err != nil || did == kept || did == gone && !had {
			continue
		}
		merged.set(name, value, did)
	}
	return merged.fields, merged.done, failed.err()
}

// field merges the manifest's value of a field over live's. had reports whether live has the field.
func (m merger) field(manifest, live any, had bool, place schema.Schema) (any, outcome, error) {
	if had {
		return m.over(manifest, live, place)
	}
	value, did, err := m.added(manifest, place)
	if did == kept {
		did = put // unchanged from the manifest, but new in live
	}
	return value, did, err
}

// newObject returns the manifest's object for a field that live lacks, with its directives carried out.
func (m merger) newObject(manifest map[string]any, place schema.Schema) (any, outcome, error) {
	d, err := directiveOf(manifest)
	if err != nil || d == deletes {
		return nil, gone, err
	}
	merged, err := m.fields(manifest, place)
	return merged, put, err
}

// fields returns the manifest's object without directives and nulls, at any depth: manifest itself if it has none.
func (m merger) fields(manifest map[string]any, place schema.Schema) (map[string]any, error) {
	if err := checkNames(manifest, inManifest); err != nil {
		return nil, err
	}
	place = schemaOf(place, manifest, nil)
	merged := overlay{fields: manifest}
	var failed failure
	for name, from := range manifest {
		value, did := from, gone
		if name != patchDirective {
			var err error
			value, did, err = m.added(from, place.Field(name))
			failed.note(name, err)
		}
		if did != kept {
			merged.set(name, value, did)
		}
	}
	return merged.fields, failed.err()
}

// overlay is an object with changes. The object is copied before the first change.
type overlay struct {
	fields map[string]any
	done   outcome
}

func (o *overlay) set(name string, value any, did outcome) {
	if o.done == kept {
		o.fields, o.done = maps.Clone(o.fields), put
	}
	if did == gone {
		delete(o.fields, name)
		return
	}
	o.fields[name] = value
}

// checkNames returns ErrEmptyName if an object has a field with an empty name, which kyaml cannot find.
func checkNames(object map[string]any, side string) error {
	if _, ok := object[""]; ok {
		return &InputError{Input: side, Err: ErrEmptyName}
	}
	return nil
}

// failure is the first error of an object's fields by name, so that the error does not depend on the order of map iteration.
type failure struct {
	name  string
	error error
}

func (f *failure) note(name string, err error) {
	if err != nil && (f.error == nil || name < f.name) {
		f.name, f.error = name, err
	}
}

func (f *failure) err() error {
	if f.error == nil {
		return nil
	}
	return under(f.error, fieldpath.FieldNameElement(f.name))
}
