package twoway

import (
	"maps"

	"github.com/ownership-handoff/handoff/merge/schema"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// object merges the manifest's fields over live's. The objects stay as they are: the first change copies live.
func (m merger) object(manifest, live map[string]any, place schema.Schema) (any, outcome, error) {
	switch said, err := directiveOf(manifest); {
	case err != nil || said == deletes:
		return nil, gone, err
	case said == replaces:
		merged, err := m.fields(manifest, seen(place, live, manifest))
		return merged, put, err
	}
	if err := checkNames(manifest, inManifest); err != nil {
		return nil, gone, err
	}
	if err := checkNames(live, inLive); err != nil {
		return nil, gone, err
	}
	place = seen(place, live, manifest)
	merged, done := live, kept
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
		if done == kept {
			merged, done = maps.Clone(live), put
		}
		if did == gone {
			delete(merged, name)
		} else {
			merged[name] = value
		}
	}
	return merged, done, failed.err()
}

// field merges manifest over a field of live, which may lack it.
func (m merger) field(manifest, live any, had bool, place schema.Schema) (any, outcome, error) {
	if had {
		return m.over(manifest, live, place)
	}
	value, did, err := m.added(manifest, place)
	if did == kept {
		did = put // kept by manifest is new to live
	}
	return value, did, err
}

// newObject returns the object that the manifest brings: it heeds its directive, and so do the objects beneath.
func (m merger) newObject(manifest map[string]any, place schema.Schema) (any, outcome, error) {
	said, err := directiveOf(manifest)
	if err != nil || said == deletes {
		return nil, gone, err
	}
	merged, err := m.fields(manifest, place)
	return merged, put, err
}

// fields returns the manifest's own fields: without the directive, without nulls, and so on beneath. It is manifest itself when
// that is already like this.
func (m merger) fields(manifest map[string]any, place schema.Schema) (map[string]any, error) {
	if err := checkNames(manifest, inManifest); err != nil {
		return nil, err
	}
	place = seen(place, manifest, nil)
	merged, done := manifest, kept
	var failed failure
	for name, from := range manifest {
		value, did := from, gone
		if name != patchDirective {
			var err error
			value, did, err = m.added(from, place.Field(name))
			failed.note(name, err)
		}
		if did == kept {
			continue
		}
		if done == kept {
			merged, done = maps.Clone(manifest), put
		}
		if did == gone {
			delete(merged, name)
		} else {
			merged[name] = value
		}
	}
	return merged, failed.err()
}

// checkNames returns an error where an object has a field with an empty name, which kyaml cannot find.
func checkNames(object map[string]any, side string) error {
	if _, ok := object[""]; ok {
		return &InputError{Input: side, Err: ErrEmptyName}
	}
	return nil
}

// failure is the first error of an object's fields in the order of their names: that of a map is another each time.
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
