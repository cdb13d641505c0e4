package threeway

import (
	"maps"
	"reflect"

	"github.com/ownership-handoff/handoff/merge/schema"
)

// Decoded objects merge directly, map by map, unless the options report or keep changes: their members need not be sorted or
// converted to nodes. All other values, such as lists, are converted to nodes.

// direct reports whether two objects merge directly.
func (m *merger) direct(manifest, live *node, place schema.Schema) bool {
	if !m.unordered || !live.decoded || live.opened || manifest.opened {
		return false
	}
	strategy := place.Strategy().Object
	return strategy == schema.MergeFields || strategy == schema.MergePatchFields
}

// decodedObject is object for decoded values. The result is live itself if nothing changes.
func (m *merger) decodedObject(base, manifest, live map[string]any, place schema.Schema) (map[string]any, error) {
	merged := edited{live: live}
	mergePatch := place.Strategy().Object == schema.MergePatchFields
	for name, want := range manifest {
		had, there := live[name]
		switch want.(type) {
		case string, bool, int64, float64:
			if there && had == want {
				continue
			}
			if kindOf(had) != unsupported {
				merged.put(name, want)
				continue
			}
		}
		value, outcome, err := m.decodedField(base, want, had, there, name, place, mergePatch)
		switch {
		case err != nil:
			return nil, err
		case outcome == changed:
			merged.put(name, value)
		case outcome == removed:
			merged.remove(name)
		}
	}
	for name := range base {
		if _, stays := manifest[name]; stays {
			continue
		}
		if !mergePatch && isPatchDirective(name) {
			return nil, m.wrong(inBase, ErrDirective, "%s", name)
		}
		merged.remove(name)
	}
	return merged.object(), nil
}

// edited is live's object, copied before the first change.
type edited struct{ live, copied map[string]any }

func (e *edited) put(name string, value any) {
	if e.copied == nil {
		e.copied = maps.Clone(e.live)
	}
	if e.copied == nil { // live is nil
		e.copied = map[string]any{}
	}
	e.copied[name] = value
}

func (e *edited) remove(name string) {
	if _, there := e.live[name]; !there {
		return
	}
	if e.copied == nil {
		e.copied = maps.Clone(e.live)
	}
	delete(e.copied, name)
}

func (e *edited) object() map[string]any {
	if e.copied != nil {
		return e.copied
	}
	return e.live
}

// outcome is the effect of a merge on a field of a decoded object.
type outcome int

const (
	unmodified outcome = iota
	changed
	removed
)

// decodedField merges a field by nodes.
func (m *merger) decodedField(
	base map[string]any, want, had any, there bool, name string, place schema.Schema, mergePatch bool,
) (any, outcome, error) {
	w := nodeOf(want)
	f := field{manifest: &w, place: place.Field(name)}
	var l, b node
	if there {
		l = nodeOf(had)
		f.live = &l
	}
	if before, ok := base[name]; ok {
		b = nodeOf(before)
		f.base = &b
	}
	m.enter(step{name: name})
	result, err := m.field(f, mergePatch)
	m.leave()
	switch {
	case err != nil:
		return nil, unmodified, err
	case result.absent() && !there, there && same(&result, &l):
		return nil, unmodified, nil
	case result.absent():
		return nil, removed, nil
	default:
		return result.decode(), changed, nil
	}
}

// object returns the decoded object that a node was made from, nil if there is none.
func (n *node) object() map[string]any {
	if n == nil {
		return nil
	}
	object, _ := n.value.(map[string]any)
	return object
}

// identical reports whether two decoded values are equal scalars, or the same map or slice in memory.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	default:
		return a == b
	}
}

// equalDecoded is equal for decoded values.
func equalDecoded(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, inner := range a {
			other, there := b[name]
			if !there || !equalDecoded(inner, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalDecoded(a[i], b[i]) {
				return false
			}
		}
		return true
	default:
		return kindOf(a) != unsupported && kindOf(b) != unsupported && a == b
	}
}
