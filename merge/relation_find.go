package merge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ownership-handoff/handoff/internal/fieldtree"
	"github.com/ownership-handoff/handoff/internal/rawjson"
)

// relationOf is a relation, and an object of the write that it applies to.
type relationOf struct {
	relation int // index in relations()
	object   *fieldtree.Node
}

// brokenRelations returns the units that break a relation if they are kept, although the incoming object satisfies it. Each
// comes with the reason why the manifest wins. The unit with the scale field is never one of them.
func (k *keeper) brokenRelations() map[*unit]string {
	all := relations()
	unitsIn := map[relationOf][]*unit{}
	var found []relationOf // in the order of the units
	for _, u := range k.units {
		if k.isUnchanged(u) {
			continue
		}
		k.visitRelations(u, all[:], func(of relationOf) {
			if unitsIn[of] == nil {
				found = append(found, of)
			}
			unitsIn[of] = append(unitsIn[of], u)
		})
	}
	broken := map[*unit]string{}
	for _, of := range found {
		r, units := all[of.relation], unitsIn[of]
		incoming, after := k.objectAt(of.object, r, nil), k.objectAt(of.object, r, units)
		before, faults := r.broken(incoming), r.broken(after)
		if r.dropped != nil {
			faults = append(faults, r.dropped(after, incoming)...)
		}
		for _, f := range faults {
			if slices.ContainsFunc(before, f.isAt) {
				continue // the API server corrects it, or rejects the manifest in any case
			}
			for _, u := range units {
				if !u.scale && overlaps(u.top.Names(of.object), f.names) {
					broken[u] = f.reason
				}
			}
		}
	}
	return broken
}

// visitRelations calls visit for each relation that concerns a unit, with the object that the relation applies to.
func (k *keeper) visitRelations(u *unit, all []relation, visit func(relationOf)) {
	path := u.top.Names(nil)
	if k.meter != nil && !k.meter(len(path)*len(all)) {
		return
	}
	kind := k.write.Kind.Group + "/" + k.write.Kind.Kind
	for i := range all {
		r := &all[i]
		if r.kind != "" && r.kind != kind {
			continue
		}
		object := u.top
		for depth := len(path) - 1; depth >= 0; depth-- {
			if object = object.Parent(); object == nil {
				object = k.tree.Root()
			}
			if !r.appliesAt(path[:depth]) || r.members != "" && !hasWord(r.members, path[depth]) {
				continue
			}
			visit(relationOf{relation: i, object: object})
		}
	}
}

// appliesAt reports whether a relation applies to the object at a path.
func (r *relation) appliesAt(path []string) bool {
	names := r.object
	for i := len(path) - 1; names != ""; i-- {
		dot := strings.LastIndexByte(names, '.')
		if i < 0 || names[dot+1:] != path[i] {
			return false
		}
		path, names = path[:i], names[:max(dot, 0)]
	}
	return !r.fromRoot || len(path) == 0
}

// isAt reports whether another fault is at the same field.
func (f fault) isAt(other fault) bool { return slices.Equal(f.names, other.names) }

// overlaps reports whether one of two paths is a prefix of the other.
func overlaps(a, b []string) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// objectAt returns the object at a node of the incoming object, with the values of the units set in it. It has only the
// members that the relation concerns. It is nil if the work budget is exhausted.
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
		if (r.members == "" || hasWord(r.members, key)) && json.Unmarshal(value.Of(text), &decoded) == nil {
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

// overlay sets the value of node to in object, the decoded value of its ancestor from. A path that leads nowhere is ignored.
func (k *keeper) overlay(object any, from, to *fieldtree.Node, value any) {
	var nodes []*fieldtree.Node // from the field upward
	for n := to; n != nil && n != from; n = n.Parent() {
		nodes = append(nodes, n)
	}
	for i, n := range slices.Backward(nodes) {
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
