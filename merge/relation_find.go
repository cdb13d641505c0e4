package merge

import (
	"encoding/json"
	"slices"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// question is a relation of one object, and the units in it.
type question struct {
	relation int // among relations()
	object   *fieldtree.Node
}

// brokenRelations returns the units whose being kept breaks a relation that the incoming object keeps, each with the reason
// why the manifest wins. The unit with the scale field is never among them.
func (k *keeper) brokenRelations() map[*unit]string {
	all := relations()
	inside := map[question][]*unit{}
	var questions []question
	for _, u := range k.units {
		if k.stays(u) {
			continue
		}
		k.ask(u, all, func(q question) {
			if inside[q] == nil {
				questions = append(questions, q)
			}
			inside[q] = append(inside[q], u)
		})
	}
	broken := map[*unit]string{}
	for _, q := range questions {
		r, units := all[q.relation], inside[q]
		incoming, after := k.objectAt(q.object, r, nil), k.objectAt(q.object, r, units)
		before, faults := r.broken(incoming), r.broken(after)
		if r.undone != nil {
			faults = append(faults, r.undone(after, incoming)...)
		}
		for _, f := range faults {
			if slices.ContainsFunc(before, f.isAt) {
				continue // the API server puts it right, or refuses the manifest in any case
			}
			for _, u := range units {
				if !u.scale && overlaps(u.top.Names(q.object), f.names) {
					broken[u] = f.reason
				}
			}
		}
	}
	return broken
}

// ask calls visit for each relation that a unit is in, with the object that it is about.
func (k *keeper) ask(u *unit, all []relation, visit func(question)) {
	path := u.top.Names(nil)
	if k.meter != nil && !k.meter(len(path)*len(all)) {
		return
	}
	kind := k.write.Kind.Group + "/" + k.write.Kind.Kind
	for i, r := range all {
		if len(r.kinds) > 0 && !slices.Contains(r.kinds, kind) {
			continue
		}
		object := u.top
		for depth := len(path) - 1; depth >= 0; depth-- {
			if object = object.Parent(); object == nil {
				object = k.tree.Root()
			}
			if !r.isAbout(path[:depth]) || r.members != nil && !slices.Contains(r.members, path[depth]) {
				continue
			}
			visit(question{relation: i, object: object})
		}
	}
}

// isAbout reports whether a relation is about the object at a path.
func (r relation) isAbout(path []string) bool {
	if r.whole {
		return slices.Equal(path, r.object)
	}
	return len(path) >= len(r.object) && slices.Equal(path[len(path)-len(r.object):], r.object)
}

// isAt reports whether another fault is at the same field.
func (f fault) isAt(other fault) bool { return slices.Equal(f.names, other.names) }

// overlaps reports whether one of two paths is the beginning of the other.
func overlaps(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// objectAt returns the members of the incoming object at a node that a relation is about, with the values of the units that
// are in it; nil where there is no object.
func (k *keeper) objectAt(n *fieldtree.Node, r relation, units []*unit) map[string]any {
	text := k.write.Incoming.Text()
	if n != k.tree.Root() {
		text = k.incoming.Of(n, text)
	}
	if k.meter != nil && !k.meter(len(text)) {
		return nil
	}
	object := map[string]any{}
	rawjson.Members(text, func(name, value rawjson.Span) bool {
		key := string(rawjson.Name(name.Of(text)))
		var decoded any
		if (r.members == nil || slices.Contains(r.members, key)) && json.Unmarshal(value.Of(text), &decoded) == nil {
			object[key] = decoded
		}
		return true
	})
	for _, u := range units {
		var value any
		if json.Unmarshal(u.value, &value) == nil {
			k.overlay(object, n, u.top, value)
		}
	}
	return object
}

// overlay sets the value at a node in the decoded object at another.
func (k *keeper) overlay(object any, from, to *fieldtree.Node, value any) {
	var way []*fieldtree.Node
	for n := to; n != nil && n != from; n = n.Parent() {
		way = append(way, n)
	}
	for i, n := range slices.Backward(way) {
		switch in := object.(type) {
		case map[string]any:
			if !n.IsField() {
				return
			}
			name := *n.Element.FieldName
			if i == 0 {
				in[name] = value
				return
			}
			object = in[name]
		case []any:
			index := k.incoming[n.ID].Index
			if n.IsField() || index >= len(in) {
				return
			}
			if i == 0 {
				in[index] = value
				return
			}
			object = in[index]
		default:
			return
		}
	}
}
