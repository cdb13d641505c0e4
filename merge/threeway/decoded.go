package threeway

import (
	"maps"

	"github.com/ownership-handoff/handoff/internal/jsonnode"
	"github.com/ownership-handoff/handoff/merge/schema"
)

// Decoded objects merge directly, map by map, unless the options report or keep changes: their members need not be sorted or
// converted to nodes. With nodes alone, objects with many scalars would merge more slowly than by strategicpatch. All other
// values, such as lists, are converted.

// direct reports whether two objects merge directly.
func (m *merger) direct(manifest, live *node, place schema.Schema) bool {
	strategy := place.Strategy().Object
	return m.unordered && manifest.Value != nil && live.Value != nil &&
		(strategy == schema.MergeFields || strategy == schema.MergePatchFields)
}

// decodedObject is object for decoded values. The result is live itself if nothing changes.
func (m *merger) decodedObject(base, manifest, live map[string]any, place schema.Schema) (map[string]any, error) {
	merged := edited{live: live, now: live}
	mergePatch := place.Strategy().Object == schema.MergePatchFields
	for name, want := range manifest {
		had, there := live[name]
		if isPlain(want) && (!there || isPlain(had)) { // most members, without nodes
			if !there || had != want {
				merged.put(name, want)
			}
			continue
		}
		before, was := base[name]
		f := field{base: nodeIf(before, was), manifest: nodeIf(want, true), live: nodeIf(had, there), place: place.Field(name)}
		m.enter(step{name: name})
		result, err := m.field(f, mergePatch)
		m.leave()
		switch {
		case err != nil:
			return nil, err
		case result.Absent():
			merged.remove(name)
		case !there || !jsonnode.Same(&result, f.live):
			merged.put(name, result.Decode())
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
	return merged.now, nil
}

// edited is live's object, copied before the first change.
type edited struct {
	live, now map[string]any
	copied    bool
}

func (e *edited) put(name string, value any) {
	e.copyOnce()
	e.now[name] = value
}

func (e *edited) remove(name string) {
	if _, there := e.live[name]; there {
		e.copyOnce()
		delete(e.now, name)
	}
}

func (e *edited) copyOnce() {
	if !e.copied {
		e.now, e.copied = make(map[string]any, len(e.live)+1), true
		maps.Copy(e.now, e.live)
	}
}

// isPlain reports whether a decoded value is a scalar of a type that a merge never converts.
func isPlain(value any) bool {
	switch value.(type) {
	case string, bool, int64, float64:
		return true
	default:
		return false
	}
}

func nodeIf(value any, there bool) *node {
	if !there {
		return nil
	}
	n := jsonnode.Of(value)
	return &n
}

// objectOf returns the decoded object that a node was made from, nil if there is none.
func objectOf(n *node) map[string]any {
	if n == nil {
		return nil
	}
	object, _ := n.Value.(map[string]any)
	return object
}
