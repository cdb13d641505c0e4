package ownership

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ownership-handoff/handoff/internal/apitypes"
	"github.com/ownership-handoff/handoff/internal/fieldpattern"
	"github.com/ownership-handoff/handoff/internal/jsontree"
)

// OwnedField is a leaf field of a live object, and its owner. A leaf is a scalar, an empty object or list, or an object or list
// that managedFields contain as one field.
type OwnedField struct {
	// Path leads to the field. It names list elements as managedFields do, by key or by value, and elements without a manager
	// by index.
	Path fieldpath.Path
	// Value is the field's JSON text, a part of the object's text, or {} for metadata in which OwnedFields leaves out all. It is nil
	// if managedFields contain a field that the object lacks: the entry was recorded in another API version, or the field has
	// been removed.
	Value []byte
	Owner FieldOwner
	// Since is the time of the owner's managedFields entry, in RFC 3339 format. It is empty if the entry has no time, as for the
	// scale subresource, and if the owner has no entry.
	Since string
	// Entries are the managedFields entries that contain the field: the owner's first, the others in their order.
	Entries []Entry
	// Declared is how the last-applied configuration declares the field.
	Declared Declaration
	// DeclaredValue is the JSON text of the value in the last-applied configuration, nil if it equals Value. Quantities that the
	// API server has rewritten, such as 0.5 as 500m, are not equal.
	DeclaredValue []byte
}

// OwnedFields are the fields of one object, in the order of the object. Fields that only managedFields contain follow the other
// fields of their parent. No two fields have the same path.
type OwnedFields []OwnedField

// OwnedFields returns every leaf field of a live object, and every field of its managedFields that the object lacks, each with its
// owner. It leaves out the fields that identify the object (apitypes.IdentityPaths) and the last-applied annotation, and a
// creationTimestamp in other metadata, such as that of a pod template, if it is null or missing. API servers before Kubernetes
// 1.34 return it as null, and managedFields contain it if a client has sent it as null, but it never has a value.
//
// The owner is the one that decisions use, with four refinements:
//   - Other owns a field that was written by a client that no list of managers names. Decisions count it as Imperative.
//   - Default owns a field that a client-side applier manages and that its last-applied configuration lacks. The API server
//     records the fields that it adds to a new object for the manager that creates it.
//   - A field of status that was written through the status subresource belongs to Controller, or to Imperative if the manager
//     is listed as imperative.
//   - Unknown owns a field whose writer is not recorded: the object has no managedFields, as without --show-managed-fields, or
//     only "ancient-changes" and "before-first-apply" contain the field. If the last-applied configuration declares the same
//     value, the owner is Manifest.
//
// managedFields do not distinguish an atomic list or map from one without managed fields nested under it. OwnedFields returns both
// as one field.
//
// The error is ErrManagedFields or ErrLastApplied. The fields refer to the object's text, which must not change.
func (c ObjectContext) OwnedFields(live Object) (OwnedFields, error) {
	manifest, err := live.LastAppliedManifest()
	if err != nil {
		return nil, err
	}
	entries, err := live.Entries()
	if err != nil {
		return nil, err
	}
	version, _ := live.At("apiVersion").String()
	kind, _ := live.At("kind").String()
	w := fieldWalk{Write: Write{ObjectContext: c, Kind: schema.FromAPIVersionAndKind(version, kind), Live: live, LiveEntries: entries}}
	w.manifest, w.applied, w.elsewhere = manifest, w.appliedValues(), w.writersElsewhere()
	s := position{live: live.root, declared: manifest, excluded: fieldpath.NewSet(append(apitypes.IdentityPaths(), LastAppliedPath())...)}
	for i, e := range entries {
		if _, err := e.Set(); err != nil {
			return nil, err
		}
		s.subsets = append(s.subsets, subset{entry: i, set: e.Fields})
	}
	w.visit(s)
	return slices.Clip(w.found), nil
}

// fieldWalk visits a live object, its last-applied configuration and the field sets of its managedFields together.
type fieldWalk struct {
	Write
	applied   appliedValues
	elsewhere map[*Rule]Entry
	manifest  *jsontree.Node // the last-applied configuration
	path      fieldpath.Path // to the current position
	found     OwnedFields
}

// position is a path in the object, with the values and the entries at that path.
type position struct {
	live     *jsontree.Node // nil if only managedFields contain the path
	declared *jsontree.Node // in the last-applied configuration, nil if that lacks it
	subsets  []subset
	excluded *fieldpath.Set // the nested fields that are left out
}

// subset is what the field set of an entry contains at a path and nested under it.
type subset struct {
	entry int // index of the entry
	name  fieldpath.PathElement
	set   *jsontree.Node
	// isMember reports whether the field set contains the path itself (nested).
	isMember bool
}

// visit lists the fields at a position: those of the object in their order, then those that only managedFields contain.
func (w *fieldWalk) visit(s position) {
	nested := nestedIn(s.subsets)
	parts := w.partsOf(s.live)
	// A leaf has no parts, or managedFields contain it and nothing nested under it. A parent of excluded fields is none.
	isLeaf := s.live != nil && len(parts) == 0 || len(nested) == 0 && (s.live == nil || len(s.subsets) > 0 && s.excluded == nil)
	if len(w.path) > 0 && isLeaf {
		w.found = append(w.found, w.field(s))
		parts = nil
	}
	named := map[*jsontree.Node][]subset{}
	var lacking [][]subset // by name
	for _, c := range nested {
		last := len(lacking) - 1
		switch part := s.live.Child(c.name); {
		case part != nil:
			named[part] = append(named[part], c)
		case w.isUnsetTime(c.name, nil):
		case last >= 0 && lacking[last][0].name.Equals(c.name):
			lacking[last] = append(lacking[last], c)
		default:
			lacking = append(lacking, []subset{c})
		}
	}
	names := namingOf(nested)
	for _, part := range parts {
		subsets := named[part]
		name := nameOf(part, subsets)
		if len(subsets) == 0 {
			subsets = named[names.twin(s.live, part)]
		}
		w.step(s, position{live: part, declared: w.declared(s, part, names), subsets: subsets}, name)
	}
	for _, subsets := range lacking {
		name := subsets[0].name
		w.step(s, position{declared: w.declaredAt(s, name), subsets: subsets}, name)
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

// nestedIn returns what subsets contain directly under their path, sorted by name, and completes the subsets. Elements of unknown types are
// ignored, as in a fieldpath.Set.
func nestedIn(subsets []subset) (nested []subset) {
	for i, c := range subsets {
		before := len(nested)
		for part := range c.set.Parts() {
			if name, err := fieldpath.DeserializePathElement(part.Name()); err == nil {
				nested = append(nested, subset{entry: c.entry, name: name, set: part})
			}
		}
		subsets[i].isMember = len(nested) == before || c.set.Member(".") != nil
	}
	slices.SortStableFunc(nested, func(a, b subset) int { return a.name.Compare(b.name) })
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
	inMetadata := len(w.path) > 0 && fieldpattern.IsNamed(w.path[len(w.path)-1], "metadata")
	return inMetadata && fieldpattern.IsNamed(name, "creationTimestamp") && (is == nil || is.IsNull())
}

// nameOf returns the path element of a member or element: the first of its subsets, else the name or the index.
func nameOf(part *jsontree.Node, subsets []subset) fieldpath.PathElement {
	switch {
	case part.Parent().IsObject():
		return fieldpath.FieldNameElement(part.Name())
	case len(subsets) > 0:
		return subsets[0].name
	default:
		return fieldpath.IndexElement(part.Index())
	}
}

// naming is how managedFields name the elements of a list: a path element for each different list of key fields, and one for values.
type naming []fieldpath.PathElement

func namingOf(subsets []subset) (n naming) {
	keys := func(e fieldpath.PathElement) value.FieldList { return *cmp.Or(e.Key, &value.FieldList{}) }
	isNamedAlike := func(a, b value.Field) bool { return a.Name == b.Name }
	for _, c := range subsets { // of those with the same key fields, and of those that are values, the first
		isSame := func(e fieldpath.PathElement) bool { return slices.EqualFunc(keys(e), keys(c.name), isNamedAlike) }
		if (c.name.Key != nil || c.name.Value != nil) && !slices.ContainsFunc(n, isSame) {
			n = append(n, c.name)
		}
	}
	return n
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
	alias := apitypes.StringData(w.Kind.GroupKind(), append(slices.Clip(w.path), name))
	return cmp.Or(apitypes.Encoded(w.manifest.Find(alias)), s.declared.Child(name))
}

// field returns the field at a position, with its owner.
func (w *fieldWalk) field(s position) OwnedField {
	f := OwnedField{Path: slices.Clone(w.path), Value: s.live.Text()}
	if s.live.Len() > 0 && len(w.partsOf(s.live)) == 0 {
		f.Value = []byte("{}")
	}
	switch {
	case s.declared.IsNull():
		f.Declared = Clears
	case s.declared != nil:
		f.Declared = Sets
		if !apitypes.SameValue(f.Value, s.declared.Text()) {
			f.DeclaredValue = s.declared.Text()
		}
	}
	for i, e := range w.LiveEntries {
		isInOther := w.IsScale(f.Path) && w.InOtherVersion(e) && w.ManagesScale(e)
		if isInOther || slices.ContainsFunc(s.subsets, func(c subset) bool { return c.entry == i && c.isMember }) {
			f.Entries = append(f.Entries, e)
		}
	}
	owned, by := w.owner(f)
	f.Owner, f.Since = owned, by.Time
	if i := slices.IndexFunc(f.Entries, by.Same); i > 0 {
		f.Entries = slices.Insert(slices.Delete(f.Entries, i, i+1), 0, by)
	}
	return f
}

// owner returns the field's owner and its entry, the zero Entry if it has none.
func (w *fieldWalk) owner(f OwnedField) (owned FieldOwner, by Entry) {
	through := func(subresource string) (by Entry) {
		if i := slices.IndexFunc(f.Entries, func(e Entry) bool { return e.Subresource == subresource }); i >= 0 {
			by = f.Entries[i]
		}
		return by
	}
	if w.Autoscaler != "" && w.IsScale(f.Path) {
		return FieldOwner{Kind: Autoscaler, By: w.Autoscaler}, through("scale")
	}
	if by := through("status"); by.Subresource != "" && apitypes.InStatus(f.Path) {
		owned = FieldOwner{Kind: Controller, By: by.Manager}
		if matches(w.Managers.Imperative, by.Manager) {
			owned.Kind = Imperative
		}
		return owned, by
	}
	named := slices.DeleteFunc(slices.Clone(f.Entries), Entry.IsAnonymous)
	of := managedField{path: f.Path, without: f.ownerUnnamed(len(named) == 0 && (len(f.Entries) > 0 || len(w.LiveEntries) == 0))}
	isBase := f.declaredAsIs() || apitypes.AsDeclared(f.Path, f.Value, f.DeclaredValue)
	if of.rules = w.Managers.RulesFor(f.Path); w.isOff(f.Path, f.Value) {
		of.rules = nil
	}
	if rule := ruleUnrecorded(of.rules, f.Entries, f.Value, isBase); w.IsScale(f.Path) && rule != nil {
		return FieldOwner{Kind: Controller, Rule: rule.Name}, by
	}
	if rule := w.ruleElsewhere(f.Path, of.rules); rule != nil && len(f.Entries) == 0 && !isBase {
		return FieldOwner{Kind: Controller, By: w.elsewhere[rule].Manager, Rule: rule.Name}, w.elsewhere[rule]
	}
	of.isApplied, of.isUnapplied = w.applied.status(f.Path, f.Value, isBase)
	of.isUnapplied = of.isUnapplied && len(named) > 0
	of.entries = slices.DeleteFunc(named, func(e Entry) bool { // the API server set what the last-applied configuration of an entry lacks
		return f.Declared == Lacks && w.isClientSide(e) && e.Contains(LastAppliedPath())
	})
	owned, by = w.ownerOf(of)
	if owned.Kind == Imperative && !w.Managers.IsImperative(by) {
		owned.Kind = Other
	}
	return owned, by
}

// ruleElsewhere returns the first rule whose writer has an entry in another API version, of those that assign a field or a parent that one
// of them names without wildcards: addRuled adds no others, so ruledOwner need not compare patterns. It is nil for the scale field.
func (w *fieldWalk) ruleElsewhere(path fieldpath.Path, rules []*Rule) *Rule {
	isOther := func(r *Rule) bool { _, found := w.elsewhere[r]; return !found || w.IsScale(path) }
	names := func(p Pattern) bool { _, isPath := p.Path(); return isPath && p.Matches(path) }
	for _, rule := range slices.DeleteFunc(slices.Clone(rules), isOther) {
		if at := slices.IndexFunc(rule.Fields, names); at >= 0 {
			return append(slices.DeleteFunc(w.Managers.RulesFor(path[:len(rule.Fields[at])]), isOther), rule)[0]
		}
	}
	return nil
}

// ownerUnnamed is ownerWithoutEntry, and Unknown if a manager has written the field whose name is not recorded. Declarations of status do
// not count, because the API server drops them.
func (f OwnedField) ownerUnnamed(unrecorded bool) (owner Owner) {
	if !apitypes.InStatus(f.Path) && (!unrecorded || f.declaredAsIs()) {
		owner = Declared{Base: f.Declared}.ownerWithoutEntry()
	}
	if owner == Default && unrecorded {
		return Unknown
	}
	return owner
}

// declaredAsIs reports whether live has the value of the last-applied configuration.
func (f OwnedField) declaredAsIs() bool { return f.Declared == Sets && f.DeclaredValue == nil }
