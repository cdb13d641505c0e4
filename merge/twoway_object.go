package merge

import (
	"maps"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// object merges source's fields over destination's. The objects stay as they are: the first change copies destination.
func (m twoWay) object(source, destination map[string]any, schema Schema) (any, outcome, error) {
	switch said, err := directiveOf(source); {
	case err != nil || said == deletes:
		return nil, gone, err
	case said == replaces:
		merged, err := m.fields(source, schema)
		return merged, put, err
	}
	schema = seen(schema, destination, source)
	merged, done := destination, kept
	var failed failure
	for name, from := range source {
		if name == patchDirective {
			continue
		}
		to, had := destination[name]
		value, did, err := m.field(from, to, had, schema.Field(name))
		failed.note(name, err)
		if err != nil || did == kept || did == gone && !had {
			continue
		}
		if done == kept {
			merged, done = maps.Clone(destination), put
		}
		if did == gone {
			delete(merged, name)
		} else {
			merged[name] = value
		}
	}
	return merged, done, failed.err()
}

// field merges source over a field of destination, which may lack it.
func (m twoWay) field(source, destination any, had bool, schema Schema) (any, outcome, error) {
	if had {
		return m.over(source, destination, schema)
	}
	value, did, err := m.added(source, schema)
	if did == kept {
		did = put // kept by source is new to destination
	}
	return value, did, err
}

// newObject returns the object that source brings: it heeds its directive, and so do the objects beneath.
func (m twoWay) newObject(source map[string]any, schema Schema) (any, outcome, error) {
	said, err := directiveOf(source)
	if err != nil || said == deletes {
		return nil, gone, err
	}
	merged, err := m.fields(source, schema)
	return merged, put, err
}

// fields returns source's own fields: without the directive, without nulls, and so on beneath. It is source itself when
// that is already like this.
func (m twoWay) fields(source map[string]any, schema Schema) (map[string]any, error) {
	schema = seen(schema, source, nil)
	merged, done := source, kept
	var failed failure
	for name, from := range source {
		value, did := from, gone
		if name != patchDirective {
			var err error
			value, did, err = m.added(from, schema.Field(name))
			failed.note(name, err)
		}
		if did == kept {
			continue
		}
		if done == kept {
			merged, done = maps.Clone(source), put
		}
		if did == gone {
			delete(merged, name)
		} else {
			merged[name] = value
		}
	}
	return merged, failed.err()
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
