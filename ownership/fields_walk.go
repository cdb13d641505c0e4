package ownership

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// fieldWalk visits a live object, its last-applied configuration and the field sets of its managedFields together.
type fieldWalk struct {
	context  ObjectContext
	applied  appliedValues
	entries  []Entry
	manifest *jsontree.Node // the last-applied configuration
	path     fieldpath.Path // to the current position
	found    Fields
}

// position is a path in the object, with the values and the entries at that path.
type position struct {
	live     *jsontree.Node // nil if only managedFields contain the path
	declared *jsontree.Node // in the last-applied configuration, nil if that lacks it
	claims   []claim
	excluded *fieldpath.Set // the nested fields that are left out
}

// claim is what the field set of an entry contains at a path and nested under it.
type claim struct {
	entry int // index of the entry
	name  fieldpath.PathElement
	set   *jsontree.Node
	// isMember reports whether the field set contains the path itself (nested).
	isMember bool
}

// visit lists the fields at a position: those of the object in their order, then those that only managedFields contain.
func (w *fieldWalk) visit(s position) {
	nested := nestedIn(s.claims)
	parts := w.partsOf(s.live)
	// A leaf has no parts, or managedFields contain it and nothing nested under it. A parent of excluded fields is none.
	isLeaf := s.live != nil && len(parts) == 0 || len(nested) == 0 && (s.live == nil || len(s.claims) > 0 && s.excluded == nil)
	if len(w.path) > 0 && isLeaf {
		w.found = append(w.found, w.field(s))
		parts = nil
	}
	named := map[*jsontree.Node][]claim{}
	var lacking [][]claim // by name
	for _, c := range nested {
		last := len(lacking) - 1
		switch part := s.live.Child(c.name); {
		case part != nil:
			named[part] = append(named[part], c)
		case w.isUnsetTime(c.name, nil):
		case last >= 0 && lacking[last][0].name.Equals(c.name):
			lacking[last] = append(lacking[last], c)
		default:
			lacking = append(lacking, []claim{c})
		}
	}
	names := namingOf(nested)
	for _, part := range parts {
		claims := named[part]
		name := nameOf(part, claims)
		if len(claims) == 0 {
			claims = named[names.twin(s.live, part)]
		}
		w.step(s, position{live: part, declared: w.declared(s, part, names), claims: claims}, name)
	}
	for _, claims := range lacking {
		name := claims[0].name
		w.step(s, position{declared: w.declaredAt(s, name), claims: claims}, name)
	}
}

// step visits a child of a position. name is the child's path element.
func (w *fieldWalk) step(from, to position, name fieldpath.PathElement) {
	if from.excluded != nil {
		if from.excluded.Members.Has(name) {
			return
		}
		to.excluded, _ = from.excluded.Children.Get(name)
	}
	w.path = append(w.path, name)
	w.visit(to)
	w.path = w.path[:len(w.path)-1]
}

// nestedIn returns what claims contain directly under their path, sorted by name, and completes the claims. Elements of unknown types are
// ignored, as in a fieldpath.Set.
func nestedIn(claims []claim) (nested []claim) {
	for i, c := range claims {
		before := len(nested)
		for part := range c.set.Parts() {
			if name, err := fieldpath.DeserializePathElement(part.Name()); err == nil {
				nested = append(nested, claim{entry: c.entry, name: name, set: part})
			}
		}
		claims[i].isMember = len(nested) == before || c.set.Member(".") != nil
	}
	slices.SortStableFunc(nested, func(a, b claim) int { return a.name.Compare(b.name) })
	return nested
}

// partsOf returns the members or elements of a value, without a creationTimestamp that is null.
func (w *fieldWalk) partsOf(live *jsontree.Node) (parts []*jsontree.Node) {
	for part := range live.Parts() {
		if !w.isUnsetTime(fieldpath.FieldNameElement(part.Name()), part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// isUnsetTime reports whether a child of the current position is the creationTimestamp of metadata, without a value.
func (w *fieldWalk) isUnsetTime(name fieldpath.PathElement, is *jsontree.Node) bool {
	if len(w.path) == 0 || name.FieldName == nil || *name.FieldName != "creationTimestamp" || is != nil && !is.IsNull() {
		return false
	}
	parent := w.path[len(w.path)-1].FieldName
	return parent != nil && *parent == "metadata"
}

// nameOf returns the path element of a member or element: the first of its claims, else the name or the index.
func nameOf(part *jsontree.Node, claims []claim) fieldpath.PathElement {
	switch {
	case part.Parent().IsObject():
		return fieldpath.FieldNameElement(part.Name())
	case len(claims) > 0:
		return claims[0].name
	default:
		return fieldpath.IndexElement(part.Index())
	}
}

// naming is how managedFields name the elements of a list: a path element for each different list of key fields, and one for values.
type naming []fieldpath.PathElement

func namingOf(claims []claim) (n naming) {
	for _, c := range claims {
		if c.name.Key == nil && c.name.Value == nil || slices.ContainsFunc(n, func(e fieldpath.PathElement) bool { return sameNaming(e, c.name) }) {
			continue
		}
		n = append(n, c.name)
	}
	return n
}

// sameNaming reports whether two path elements have the same key fields, or are both values.
func sameNaming(a, b fieldpath.PathElement) bool {
	if a.Key == nil || b.Key == nil {
		return a.Key == nil && b.Key == nil
	}
	return slices.EqualFunc(*a.Key, *b.Key, func(a, b value.Field) bool { return a.Name == b.Name })
}

// twin returns the first element of a list with the same name as another one. The API server accepts lists with duplicate keys, and
// an entry that has the key manages all of them.
func (n naming) twin(list, element *jsontree.Node) *jsontree.Node {
	for _, example := range n {
		if twin, ok := list.Like(element, example); ok {
			return twin
		}
	}
	return nil
}

// declared returns the value in the last-applied configuration of a member or element at a position. Elements are matched by the
// names that managedFields use. If there are none, they are matched by the field called name, if there is one, as
// structured-merge-diff guesses (AssociativeListCandidateFieldNames), and by their index.
func (w *fieldWalk) declared(s position, part *jsontree.Node, names naming) *jsontree.Node {
	if part.Parent().IsObject() {
		return w.declaredAt(s, fieldpath.FieldNameElement(part.Name()))
	}
	byName := fieldpath.PathElement{Key: fieldpath.KeyByFields("name", "")}
	for _, example := range append(slices.Clip(names), byName) {
		if declared, ok := s.declared.Like(part, example); ok {
			return declared
		}
	}
	return s.declared.Child(fieldpath.IndexElement(part.Index()))
}

// declaredAt is declared for a path element. A Secret's stringData goes before its data.
func (w *fieldWalk) declaredAt(s position, name fieldpath.PathElement) *jsontree.Node {
	kind, _ := w.manifest.Member("kind").String()
	alias := apitypes.StringData(schema.GroupKind{Kind: kind}, append(slices.Clip(w.path), name))
	return cmp.Or(apitypes.Encoded(w.manifest.Find(alias)), s.declared.Child(name))
}
