package ownership

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// fieldWalk visits a live object, its last-applied configuration and the field sets of its managedFields together.
type fieldWalk struct {
	context    ObjectContext
	entries    []Entry
	clientSide []bool         // which entries are of the client-side applier that wrote the last-applied configuration
	path       fieldpath.Path // to the current position
	found      Fields
}

// position is a path in the object, with the values and the entries at that path.
type position struct {
	live     *outline       // nil if only managedFields contain the path
	declared *outline       // in the last-applied configuration, nil if that lacks it
	entries  []int          // the entries that contain the path itself
	nested   []entrySet     // the field sets of entries that contain fields nested under the path
	excluded *fieldpath.Set // the nested fields that are left out
}

// entrySet is the part of an entry's field set nested under a path.
type entrySet struct {
	entry int // index of the entry
	set   *fieldpath.Set
}

// isLeaf reports whether the position is a leaf field. A parent of excluded fields is not.
func (s position) isLeaf() bool {
	switch {
	case s.live == nil:
		return len(s.nested) == 0
	case len(s.live.children) == 0:
		return true
	default:
		return len(s.entries) > 0 && len(s.nested) == 0 && s.excluded == nil
	}
}

// visit lists the fields at a position: those of the object in their order, then those that only managedFields contain.
func (w *fieldWalk) visit(s position) {
	names := s.managed()
	naming := namingOf(names)
	declared := naming.declarationsIn(s.declared)
	visited := make([]bool, len(names))
	switch {
	case len(w.path) > 0 && s.isLeaf():
		w.found = append(w.found, w.field(s))
	case s.live != nil:
		for i := range s.live.children {
			child := &s.live.children[i]
			aliases := []fieldpath.PathElement{fieldpath.FieldNameElement(child.name)}
			if !s.live.isObject() {
				aliases = naming.aliases(child, i)
			}
			name, managed := match(names, visited, aliases)
			w.step(s, position{live: child, declared: declared.of(child, aliases)}, name, managed)
		}
	}
	for i, name := range names {
		if !visited[i] && !w.isUnsetTime(name) {
			w.step(s, position{declared: declared.find(name)}, name, names[i:i+1])
		}
	}
}

// isUnsetTime reports whether a name that the object lacks at the current position is that of a creationTimestamp in metadata.
func (w *fieldWalk) isUnsetTime(name fieldpath.PathElement) bool {
	if len(w.path) == 0 || name.FieldName == nil || *name.FieldName != creationTimeName {
		return false
	}
	parent := w.path[len(w.path)-1].FieldName
	return parent != nil && *parent == metadataName
}

// managed returns the path elements that the field sets contain directly under the position, sorted and without duplicates.
func (s position) managed() (names []fieldpath.PathElement) {
	for _, n := range s.nested {
		names = slices.AppendSeq(names, n.set.Members.All())
		names = slices.AppendSeq(names, n.set.Children.All())
	}
	slices.SortFunc(names, fieldpath.PathElement.Compare)
	return slices.CompactFunc(names, fieldpath.PathElement.Equals)
}

// match returns those of the names that are aliases of a value, and marks them as visited. It also returns the name for the
// value's path: the first of them that was not visited before, else the last alias. Elements can share a key, because the API
// server accepts lists with duplicate keys.
func match(names []fieldpath.PathElement, visited []bool, aliases []fieldpath.PathElement) (
	name fieldpath.PathElement, managed []fieldpath.PathElement,
) {
	name = aliases[len(aliases)-1]
	named := false
	for _, alias := range aliases {
		i, ok := slices.BinarySearchFunc(names, alias, fieldpath.PathElement.Compare)
		if !ok {
			continue
		}
		managed = append(managed, names[i])
		if !visited[i] && !named {
			name, named = names[i], true
		}
		visited[i] = true
	}
	return name, managed
}

// step visits a child of a position. name is the child's path element; managed are the names that the field sets use for it.
func (w *fieldWalk) step(from, to position, name fieldpath.PathElement, managed []fieldpath.PathElement) {
	if from.excluded != nil {
		if from.excluded.Members.Has(name) {
			return
		}
		to.excluded, _ = from.excluded.Children.Get(name)
	}
	for _, n := range from.nested {
		for _, name := range managed {
			if n.set.Members.Has(name) && !slices.Contains(to.entries, n.entry) {
				to.entries = append(to.entries, n.entry)
			}
			if set, ok := n.set.Children.Get(name); ok {
				to.nested = append(to.nested, entrySet{entry: n.entry, set: set})
			}
		}
	}
	w.path = append(w.path, name)
	w.visit(to)
	w.path = w.path[:len(w.path)-1]
}
